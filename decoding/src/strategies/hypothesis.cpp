#include "dragoman/decoding/hypothesis.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::decoding {

bool better(const Hypothesis& a, const Hypothesis& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.steps != b.steps) return a.steps < b.steps;
  return a.tokens < b.tokens;
}

std::int32_t aligned_source(const Hypothesis& hypothesis, std::int64_t token) {
  core::require(token >= 0 && token < static_cast<std::int64_t>(hypothesis.alignment.size()),
                core::ErrorCode::kInvalidArgument,
                "no alignment for token {}: the hypothesis has {} rows of it; ask for it with want_alignment", token,
                hypothesis.alignment.size());
  const auto& weights = hypothesis.alignment[static_cast<std::size_t>(token)];
  return static_cast<std::int32_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
}

}  // namespace dragoman::decoding
