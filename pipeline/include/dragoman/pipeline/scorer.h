#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/decoding/length_penalty.h>
#include <dragoman/pipeline/attention.h>
#include <dragoman/pipeline/ensemble.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/plugins/host.h>

namespace dragoman::pipeline {

struct ScorerOptions {
  /// How the score follows from the log probability.
  decoding::LengthPenalty length_penalty{};
  /// Not of an ensemble: it is one model's.
  AttentionSettings attention{};
  /// Models that score together with the one that is named first; they have the same tokenizers.
  EnsembleOptions ensemble{};
  LanguagePair languages{};
  /// As TranslateOptions'.
  int threads = 0;
  tensor::Device device = tensor::Device::kCpu;
  std::optional<tensor::ComputeChoice> compute{};
  bool allow_non_finite = false;
};

struct LinePair {
  std::string source;
  std::string target;
  /// What messages call it: "test.de: line 7".
  std::string where;
  /// If not empty, in place of ScorerOptions::languages.
  std::string source_language{};
  std::string target_language{};
};

struct LineScore {
  double score = 0;
  /// The sum of token_log_probabilities.
  double log_probability = 0;
  /// Of the target.
  std::vector<std::string> pieces;
  /// Natural logarithms, one per piece and one for the end.
  std::vector<double> token_log_probabilities;
  /// Where it was asked for.
  std::optional<SentenceAttention> attention{};
};

/// The embedded API for forced decoding: how probable a model finds given translations.
///
///     dragoman::pipeline::Scorer scorer("models/de-en", host);
///     const double score = scorer.score({{"Guten Morgen!", "Good morning!", "greeting"}}).front().score;
///
/// Calls from any number of threads share its workers. Making one may load a plugin into the host: see Translator.
class Scorer {
 public:
  /// The host must outlive the scorer.
  Scorer(const std::filesystem::path& model_folder, plugins::Host& host, const ScorerOptions& options = {});
  ~Scorer();
  Scorer(Scorer&&) noexcept;
  Scorer& operator=(Scorer&&) noexcept;

  /// One score per pair, in order. Error{kBadInput} that says where, if a pair has more tokens than the model takes;
  /// Error{kInterrupted} if `stop` asks.
  std::vector<LineScore> score(std::vector<LinePair> pairs, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
