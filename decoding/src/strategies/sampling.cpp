#include "built_in_strategies.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <dragoman/core/random.h>

namespace dragoman::decoding {
namespace {

/// n_best independent ancestral samples. Without top_k and top_p, the model's Gumbel ranking draws them from the whole
/// vocabulary. Otherwise they are drawn here, from the most probable tokens. As in most toolkits, temperature is
/// applied first, then top_k, then top_p.
class Sampling final : public SearchStrategy {
 public:
  explicit Sampling(const DecodingOptions& options) : options_(options.sampling), samples_(options.n_best) {}

  StepNeeds needs(std::int64_t vocabulary) const override {
    if (whole_vocabulary()) return {.candidates = 1, .temperature = options_.temperature, .noise = true};
    const std::int64_t wanted = options_.top_k > 0 ? options_.top_k : kNucleusLimit;
    return {.candidates = std::min(wanted, vocabulary), .temperature = options_.temperature};
  }

  std::int32_t starts() const override { return samples_; }
  std::int32_t maximum_live() const override { return samples_; }

  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(state.live.size()); ++row) {
      const std::int64_t rank = whole_vocabulary() ? 0 : draw(state, candidates, row);
      const std::int32_t token = candidates.token(row, rank);
      const double log_probability = candidates.log_probability(row, rank);
      const bool possible = log_probability > -std::numeric_limits<double>::infinity();
      if (possible && state.is_end(token))
        result.endings.push_back({row, StoppedBy::kEnd, log_probability, 0, token});
      else if (!possible || state.length == state.maximum_length)
        result.endings.push_back({row, StoppedBy::kLength, 0, 0});
      else
        result.continuations.push_back({row, token, log_probability});
    }
  }

 private:
  bool whole_vocabulary() const { return options_.top_k == 0 && options_.top_p == 1; }

  std::int64_t draw(const SentenceState& state, const Candidates& candidates, std::int32_t row) {
    accumulate(candidates, row);
    const std::uint64_t stream = random_stream(state, state.live[static_cast<std::size_t>(row)]);
    const double uniform = core::random_uniform(options_.seed, stream, static_cast<std::uint64_t>(state.length));
    const auto nucleus = nucleus_end();
    const auto chosen = std::upper_bound(cumulative_.begin(), nucleus, uniform * *(nucleus - 1));
    return std::min(chosen, nucleus - 1) - cumulative_.begin();
  }

  void accumulate(const Candidates& candidates, std::int64_t row) {
    cumulative_.clear();
    double sum = 0;
    for (std::int64_t rank = 0; rank < candidates.per_row; ++rank) {
      const double probability = std::exp(candidates.log_probability(row, rank));
      sum += probability > 0 ? probability : 0;
      cumulative_.push_back(sum);
    }
  }

  /// Returns the iterator after the last token that may be drawn: the first at which the sum reaches top_p of the
  /// probability that top_k keeps.
  std::vector<double>::iterator nucleus_end() {
    const double whole = options_.top_k > 0 ? cumulative_.back() : 1;
    const auto last = std::lower_bound(cumulative_.begin(), cumulative_.end(), options_.top_p * whole);
    return last == cumulative_.end() ? last : last + 1;
  }

  SamplingOptions options_;
  std::int32_t samples_;
  std::vector<double> cumulative_;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_sampling(const DecodingOptions& options) {
  return std::make_unique<Sampling>(options);
}

}  // namespace dragoman::decoding
