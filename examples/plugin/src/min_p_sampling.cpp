#include "min_p_sampling.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/options.h>
#include <dragoman/core/random.h>

namespace example {
namespace {

using namespace dragoman;

/// No more tokens than these are looked at; with min_p = 0.01 there can be at most 100.
constexpr std::int64_t kMaxCandidates = 128;

class MinPSampling final : public decoding::SearchStrategy {
 public:
  MinPSampling(const decoding::SamplingOptions& options, double min_p) : options_(options), min_p_(min_p) {}

  decoding::StepNeeds needs(std::int64_t vocabulary) const override {
    return {.candidates = std::min(kMaxCandidates, vocabulary), .temperature = options_.temperature, .noise = false};
  }
  std::int32_t maximum_live() const override { return 1; }

  void advance(decoding::SentenceState& state, const decoding::Candidates& candidates,
               decoding::Advance& result) override {
    const std::int64_t rank = draw(state, candidates);
    const std::int32_t token = candidates.token(0, rank);
    const double log_probability = candidates.log_probability(0, rank);
    if (state.is_end(token))
      result.endings.push_back({0, decoding::StoppedBy::kEnd, log_probability, static_cast<std::int32_t>(rank)});
    else if (state.length == state.maximum_length)
      result.endings.push_back({0, decoding::StoppedBy::kLength, log_probability, 0});
    else
      result.continuations.push_back({0, token, log_probability});
  }

 private:
  /// The rank of the drawn candidate: candidates come in falling order of probability.
  std::int64_t draw(const decoding::SentenceState& state, const decoding::Candidates& candidates) const {
    const double least = candidates.log_probability(0, 0) + std::log(min_p_);
    double total = 0;
    std::int64_t kept = 0;
    while (kept < candidates.per_row && candidates.log_probability(0, kept) >= least)
      total += std::exp(candidates.log_probability(0, kept++));
    double left = total * core::random_uniform(options_.seed, decoding::random_stream(state, state.live.front()),
                                               static_cast<std::uint64_t>(state.length));
    std::int64_t rank = 0;
    while (rank + 1 < kept && (left -= std::exp(candidates.log_probability(0, rank))) >= 0) ++rank;
    return rank;
  }

  decoding::SamplingOptions options_;
  double min_p_;
};

}  // namespace

std::unique_ptr<decoding::SearchStrategy> make_min_p(const decoding::DecodingOptions& options,
                                                     core::OptionReader& own) {
  const double min_p = own.get("min_p", 0.1);
  own.check(min_p > 0 && min_p <= 1, "min_p", "must lie in (0, 1]");
  return std::make_unique<MinPSampling>(options.sampling, min_p);
}

}  // namespace example
