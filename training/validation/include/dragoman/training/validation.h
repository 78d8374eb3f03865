#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/evaluation/metric.h>
#include <dragoman/evaluation/score.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/config.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/tune.h>

namespace dragoman::training {

struct ValidationSample {
  std::string source;
  std::string prediction;
  std::string reference;
  bool random = false;  ///< drawn, rather than one of the first
};

/// What the random samples of a validation are drawn by: equal draws give equal sentences.
struct SampleDraw {
  std::uint64_t seed = 0;
  /// Which validation of the run it is, by its epoch or update.
  std::uint64_t number = 0;
};

/// Which of `size` sentences a validation shows: the first ones, then the random ones, which are none of these, in
/// order, as far as there are so many. A pure function of its arguments.
std::vector<std::uint32_t> sampled_sentences(const SampleConfig& config, std::size_t size, const SampleDraw& draw);

/// What one validation found. Loss is the cross-entropy without label smoothing, in natural logarithms per target
/// token.
struct ValidationResult {
  double loss = 0;
  double perplexity = 0;
  std::int64_t tokens = 0;
  /// Of ValidationConfig::metrics, in that order; one that a program should have found and did not is not a number.
  std::vector<evaluation::Score> scores;
  /// What was wrong with programs whose failure is only a warning.
  std::vector<std::string> warnings;
  std::vector<ValidationSample> samples;
  /// Translations of the whole text, if they were needed.
  std::vector<std::string> hypotheses;

  /// The score of a metric by the name that it prints ("BLEU", "chrF2++", an external one's own); nullptr: none.
  const evaluation::Score* score(std::string_view name) const;
  /// The figure of a metric, such as the one that chooses the best model; it must have been measured.
  double value(const MetricChoice& metric) const;
};

/// What a metric of sacreBLEU is computed by; nullptr for loss, perplexity and external ones.
std::unique_ptr<evaluation::Metric> make_metric(ValidationMetric metric);

/// "loss 1.234, perplexity 3.43, BLEU 38.1, chrF2 61.0"
std::string describe(const ValidationResult& result);

/// Scores models on a parallel text: by teacher forcing, and by decoding for real and comparing text with text.
/// The result has the same bits for any number of threads. One thread at a time.
class Validator {
 public:
  /// `corpus` must have kept its text; it, the runtime and the executor must outlive the validator.
  /// `files`: a folder in which source.txt, reference.txt and last.txt, the newest translations, are kept; it is made
  /// if need be. Empty: they are written nowhere, which external metrics cannot do without: Error{kInvalidArgument}.
  Validator(const Corpus& corpus, TokenizerPair tokenizers, const ValidationConfig& config,
            const runtime::Runtime& runtime, tensor::Device device, core::Executor& executor,
            std::filesystem::path files = {});

  /// `model` without gradients, best with prepared weights. Error{kInterrupted} if `stop` asks.
  ValidationResult run(const nn::Seq2SeqModel& model, const SampleDraw& draw = {},
                       const core::ProgressSink& progress = {}, const std::stop_token& stop = {}) const;
  /// Detokenised translations of all pairs, in order, by the search that the configuration says or another.
  std::vector<std::string> translate(const nn::Seq2SeqModel& model, const core::ProgressSink& progress,
                                     const std::stop_token& stop) const;
  std::vector<std::string> translate(const nn::Seq2SeqModel& model, const decoding::DecodingOptions& options,
                                     const core::ProgressSink& progress, const std::stop_token& stop) const;
  /// What ValidationConfig::tune says to try. `warnings`: what was wrong with a program whose failure is only that.
  TuneResult tune(const nn::Seq2SeqModel& model, std::vector<std::string>& warnings, const core::ProgressSink& progress,
                  const std::stop_token& stop) const;

 private:
  void measure_loss(const nn::Seq2SeqModel& model, ValidationResult& result, const std::stop_token& stop) const;
  void write_files(const std::vector<std::string>& hypotheses, std::string_view file,
                   std::vector<std::string>& warnings) const;
  /// Of translations that are in `file`, too.
  evaluation::Score score(const MetricChoice& metric, const std::vector<std::string>& hypotheses, std::string_view file,
                          std::vector<std::string>& warnings, const std::stop_token& stop) const;

  const Corpus* corpus_;
  TokenizerPair tokenizers_;
  ValidationConfig config_;
  const runtime::Runtime* runtime_;
  tensor::Device device_;
  core::Executor* executor_;
  std::vector<std::string> references_;
  std::filesystem::path files_;
  mutable bool texts_written_ = false;
};

}  // namespace dragoman::training
