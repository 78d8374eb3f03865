#pragma once

#include <cstdint>
#include <vector>

namespace dragoman::decoding {

enum class StoppedBy : std::uint8_t {
  kEnd,        ///< the model chose to end
  kLength,     ///< the hypothesis was cut at the maximum length, or no token could follow
  kNotFinite,  ///< the model's scores are not finite; the sentence then has no other hypotheses
};

/// One translation of a sentence.
struct Hypothesis {
  /// Includes the target prefix, excludes the end.
  std::vector<std::int32_t> tokens{};
  /// The value that hypotheses are ranked by: log_probability under length and coverage penalty.
  double score = 0;
  /// The sum of token_log_probabilities.
  double log_probability = 0;
  /// Natural logarithms, one per token, and one more for the end if stopped_by is kEnd. Tokens of the prefix have the
  /// log probability under the model itself. Other tokens have the one under the searched distribution: after edits and
  /// temperature, before top-k and top-p.
  std::vector<double> token_log_probabilities{};
  /// If requested: for each entry of token_log_probabilities, the attention over the source tokens, including the end.
  /// Otherwise empty.
  std::vector<std::vector<float>> alignment{};
  StoppedBy stopped_by = StoppedBy::kEnd;
  /// The token that ended the hypothesis; -1 if none did.
  std::int32_t end = -1;
  /// The number of steps that the hypothesis took; breaks ties.
  std::int32_t steps = 0;
  /// The index of the initial hypothesis that this one descends from: the number of the sample, or of the group in a
  /// diverse beam search.
  std::int32_t origin = 0;
  /// Indices of the sentence's constraints that the hypothesis does not meet.
  std::vector<std::int32_t> unmet{};
};

/// The total order of results: the higher score first, then the hypothesis that finished earlier, then the tokens in
/// lexicographical order. Whether a hypothesis ended or was cut does not matter, as in the toolkits that the presets
/// reproduce.
bool better(const Hypothesis& a, const Hypothesis& b);

}  // namespace dragoman::decoding
