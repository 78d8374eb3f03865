#include "regex/search_work.h"

#include <dragoman/core/default_stop.h>
#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

bool SearchWork::may_go_on() noexcept {
  next_check_ = left_ - std::min(left_, kStepsBetweenChecks);
  return !core::default_stop().stop_requested();
}

void SearchWork::require_not_stopped() const {
  core::require(!core::default_stop().stop_requested(), core::ErrorCode::kInterrupted,
                "interrupted while looking for a pattern in a long text");
}

}  // namespace dragoman::tokenizer
