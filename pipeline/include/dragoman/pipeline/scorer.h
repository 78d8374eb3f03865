#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/decoding/length_penalty.h>
#include <dragoman/pipeline/attention.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/model.h>
#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

struct ScorerOptions {
  /// How the score follows from the log probability.
  decoding::LengthPenalty length_penalty{};
  /// Not for an ensemble, because attention belongs to one model.
  AttentionSettings attention{};
  LanguagePair languages{};
  LongLines long_lines = LongLines::kFail;
};

struct LinePair {
  std::string source;
  std::string target;
  /// The name of the pair in messages: "test.de: line 7".
  std::string where;
  /// If not empty, these replace ScorerOptions::languages.
  std::string source_language{};
  std::string target_language{};
};

struct LineScore {
  double score = 0;
  /// The sum of token_log_probabilities.
  double log_probability = 0;
  /// The pieces of the target.
  std::vector<std::string> pieces;
  /// Natural logarithms, one per piece and one for the end.
  std::vector<double> token_log_probabilities;
  /// If requested.
  std::optional<SentenceAttention> attention{};
  bool cut = false;     ///< with LongLines::kCut, whether tokens were left out
  std::string error{};  ///< with LongLines::kSkip, the reason why there is no score; otherwise empty
};

/// Forced decoding: computes how probable a model finds given translations.
///
///     const Model model("models/de-en");
///     Scorer scorer(model);
///     const double score = scorer.score({{"Guten Morgen!", "Good morning!", "greeting"}}).front().score;
///
/// Calls from any number of threads share the model's workers. The scorer keeps a handle of the model.
class Scorer {
 public:
  explicit Scorer(const Model& model, const ScorerOptions& options = {});
  ~Scorer();
  Scorer(Scorer&&) noexcept;
  Scorer& operator=(Scorer&&) noexcept;

  /// Returns one score per pair, in order. ScorerOptions::long_lines decides about pairs with more tokens than the
  /// model supports. Error{kInterrupted} after a stop request.
  std::vector<LineScore> score(std::vector<LinePair> pairs, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
