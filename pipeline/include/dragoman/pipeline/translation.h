#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dragoman::pipeline {

/// One translation of a text.
struct Translation {
  std::string text{};
  /// The value that translations are ranked by: log_probability under length and coverage penalty.
  double score = 0;
  /// The sum of token_scores.
  double log_probability = 0;
  /// The target tokens as pieces, excluding the end.
  std::vector<std::string> tokens{};
  /// Natural logarithms of the probabilities of the tokens, and one more for the end unless `cut`.
  std::vector<double> token_scores{};
  /// If requested: for each entry of token_scores, the attention over the source tokens, including their end.
  std::vector<std::vector<float>> alignment{};
  /// Whether the translation reached the length limit before the model chose to end it.
  bool cut = false;
  /// Minimum Bayes risk only: the expected utility that translations are ranked by.
  std::optional<double> expected_utility{};
  /// The constraints that the translation does not meet.
  std::vector<std::string> unmet_constraints{};
  /// For a text that is longer than the model supports and was translated in parts: the n-best list of each part. The
  /// members above then join the best translations of all parts: scores are sums, and `alignment` is empty.
  std::vector<std::vector<Translation>> parts{};
};

}  // namespace dragoman::pipeline
