#include "built_in_strategies.h"

#include <limits>

namespace dragoman::decoding {
namespace {

/// Takes the most probable token in every step.
class Greedy final : public SearchStrategy {
 public:
  StepNeeds needs(std::int64_t) const override { return {}; }
  std::int32_t maximum_live() const override { return 1; }
  std::int32_t next_rows(const SentenceState&) const override { return 1; }

  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    const std::int32_t token = candidates.token(0, 0);
    const double log_probability = candidates.log_probability(0, 0);
    const bool possible = log_probability > -std::numeric_limits<double>::infinity();
    if (possible && state.is_end(token))
      result.endings.push_back({0, StoppedBy::kEnd, log_probability, 0, token});
    else if (!possible || state.length == state.maximum_length)
      result.endings.push_back({0, StoppedBy::kLength, 0, 0});
    else
      result.continuations.push_back({0, token, log_probability});
  }
};

}  // namespace

std::unique_ptr<SearchStrategy> make_greedy(const DecodingOptions&) {
  return std::make_unique<Greedy>();
}

}  // namespace dragoman::decoding
