#pragma once

#include <cstdint>
#include <vector>

namespace dragoman::decoding {

enum class StoppedBy : std::uint8_t {
  kEnd,        ///< the model chose to end
  kLength,     ///< it was cut at the longest length allowed, or nothing could follow
  kNotFinite,  ///< the model's scores are not finite numbers; the sentence then has no other hypotheses
};

/// One translation of a sentence.
struct Hypothesis {
  /// With the target prefix, without the end.
  std::vector<std::int32_t> tokens{};
  /// What hypotheses are ranked by: log_probability under length and coverage penalty.
  double score = 0;
  /// The sum of token_log_probabilities.
  double log_probability = 0;
  /// Natural logarithms, one per token, and one more for the end if stopped_by is kEnd. Tokens of a prefix have the
  /// model's own; the others are under the distribution that was searched: after edits and temperature, before top-k
  /// and top-p.
  std::vector<double> token_log_probabilities{};
  /// On request: for each entry of token_log_probabilities, attention over the source tokens, its end included. Else
  /// empty.
  std::vector<std::vector<float>> alignment{};
  StoppedBy stopped_by = StoppedBy::kEnd;
  /// Steps that it took: what breaks ties.
  std::int32_t steps = 0;
  /// Which of the hypotheses that the sentence began with it descends from: the number of the sample, or of the group
  /// of a diverse beam.
  std::int32_t origin = 0;
  /// The sentence's constraints that it does not meet, as indices.
  std::vector<std::int32_t> unmet{};
};

/// The order of results, total: the higher score; then the one that finished earlier; then by tokens,
/// lexicographically. Whether a hypothesis ended or was cut makes no difference, as in the toolkits whose presets there
/// are.
bool better(const Hypothesis& a, const Hypothesis& b);

}  // namespace dragoman::decoding
