#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <dragoman/decoding/options.h>
#include <dragoman/decoding/search_plan.h>
#include <dragoman/decoding/strategy.h>

namespace dragoman::decoding {

/// The sampling of CTranslate2. `decoder: sampling` draws other samples, because its random numbers are those of the
/// model's step.
struct WeightedSampling {
  /// Draw from this number of most probable tokens. 0: draw from all tokens.
  std::int32_t top_k = 0;
  /// Draw from the smallest set of most probable tokens whose probabilities sum to at least this value. 1: no limit.
  double top_p = 1;
  double temperature = 1;
  std::uint32_t seed = 0;
};

/// A token that a hypothesis has received.
struct ObservedToken {
  std::int32_t hypothesis = 0;
  std::int32_t step = 0;
  std::int32_t token = 0;
  double log_probability = 0;
  bool is_last = false;
};

/// Additions to a search for one sentence, for programs that have token ids instead of texts.
struct TokenSearch {
  /// Draws DecodingOptions::n_best samples, in place of the strategy that the options name. The score of a token is its
  /// log probability before the temperature. A sentence draws from a Mersenne twister of its own, so its samples depend
  /// only on the seed and on Sentence::line.
  std::optional<WeightedSampling> sampling{};
  /// Biases the search towards these tokens, without forcing them: while a hypothesis consists of the first tokens of
  /// `bias`, the probability p of a next token becomes (1 - bias_strength) p, plus bias_strength for the next token of
  /// `bias`. 0 <= bias_strength < 1.
  std::vector<std::int32_t> bias{};
  double bias_strength = 0;
  /// Receives each token of a search with independent hypotheses (greedy, sampling), including the end and the target
  /// prefix. If it returns true, the hypothesis is cut after the token.
  std::function<bool(const ObservedToken&)> observer{};
};

/// Returns the search of the options with the additions.
SharedSearch make_token_search(const DecodingOptions& options, const TokenSearch& additions = {});

}  // namespace dragoman::decoding
