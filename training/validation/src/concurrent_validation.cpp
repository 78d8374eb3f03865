#include "validation/concurrent_validation.h"

#include <chrono>
#include <memory>
#include <utility>

#include <dragoman/core/parallel.h>

namespace dragoman::training {

ConcurrentValidation::~ConcurrentValidation() {
  stop_.request_stop();
}

void ConcurrentValidation::begin(Work work) {
  // Shared, because threads require copyable functions.
  auto task = std::make_shared<std::packaged_task<ValidationResult()>>(
      [work = std::move(work), stop = stop_.get_token()] { return work(stop); });
  result_ = task->get_future();
  thread_ = core::try_start_thread([task] { (*task)(); });
  if (!thread_) (*task)();
}

bool ConcurrentValidation::is_done() const {
  return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

ValidationResult ConcurrentValidation::take() {
  result_.wait();
  thread_.reset();  // has ended
  return std::exchange(result_, {}).get();
}

}  // namespace dragoman::training
