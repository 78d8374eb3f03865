#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <dragoman/decoding/strategy.h>

namespace dragoman::python {

/// Searches over token ids that other toolkits have, composed from the engine's own.

struct WeightedSampling {
  /// 0: all tokens.
  std::int32_t top_k = 0;
  double top_p = 1;
  double temperature = 1;
  std::uint32_t seed = 0;
  std::int32_t samples = 1;
};
/// Draws samples as CTranslate2 does. The score of a token is its log probability before the temperature. A sentence
/// draws from a Mersenne twister of its own, so its samples depend on the seed and on Sentence::line only.
std::unique_ptr<decoding::SearchStrategy> make_weighted_sampling(const WeightedSampling& options);

/// Biases a search towards a prefix, without forcing it: while a hypothesis consists of the first tokens of `prefix`,
/// the probability p of a next token becomes (1 - beta) p, plus beta for the next token of the prefix.
std::unique_ptr<decoding::SearchStrategy> make_biased(std::unique_ptr<decoding::SearchStrategy> search, double beta,
                                                      std::vector<std::int32_t> prefix);

/// A token that a hypothesis has got.
struct ObservedToken {
  std::int32_t hypothesis = 0;
  std::int32_t step = 0;
  std::int32_t token = 0;
  double log_probability = 0;
  bool is_last = false;
};
/// Reports each token of a search with independent hypotheses (greedy, sampling), the end and the target prefix
/// included. If `observer` returns true, the hypothesis is cut after the token.
std::unique_ptr<decoding::SearchStrategy> make_observed(std::unique_ptr<decoding::SearchStrategy> search,
                                                        std::function<bool(const ObservedToken&)> observer);

}  // namespace dragoman::python
