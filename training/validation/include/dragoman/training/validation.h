#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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
  bool random = false;  ///< drawn at random, not one of the first
};

/// The key of a validation's random samples: equal keys give equal sentences.
struct SampleDraw {
  std::uint64_t seed = 0;
  /// The number of the validation in the run, by its epoch or update.
  std::uint64_t number = 0;
};

/// Returns the sentences, out of `size`, that a validation shows: the first ones, then random others in ascending
/// order, as far as there are enough. A pure function of its arguments.
std::vector<std::uint32_t> sampled_sentences(const SampleConfig& config, std::size_t size, const SampleDraw& draw);

/// The result of one validation. The loss is the cross-entropy without label smoothing, in natural logarithms per
/// target token.
struct ValidationResult {
  double loss = 0;
  double perplexity = 0;
  std::int64_t tokens = 0;
  /// The scores of ValidationConfig::metrics, in that order. NaN if a program or a function failed to compute a score.
  std::vector<evaluation::Score> scores;
  /// Errors of programs and functions whose failure is only a warning.
  std::vector<std::string> warnings;
  std::vector<ValidationSample> samples;
  /// Translations of the whole text, if a metric needed them.
  std::vector<std::string> hypotheses;

  /// Returns the score of a metric by its printed name ("BLEU", "chrF2++", the name of a program or of a function), or
  /// nullptr.
  const evaluation::Score* score(std::string_view name) const;
  /// Returns the value of a metric, such as the one that selects the best model. The metric must have been measured.
  double value(const MetricChoice& metric) const;
};

/// Creates a metric of sacreBLEU. nullptr for loss, perplexity, programs and functions. The caller owns the metric.
std::unique_ptr<evaluation::Metric> make_metric(ValidationMetric metric);

/// Returns a description such as "loss 1.234, perplexity 3.43, BLEU 38.1, chrF2 61.0".
std::string describe(const ValidationResult& result);

/// The texts of a validation, line by line.
struct MetricTexts {
  const std::vector<std::string>& sources;
  const std::vector<std::string>& hypotheses;
  const std::vector<std::string>& references;
};
/// Metrics of the embedding program, by the name that ExternalMetric::function gives. They return a finite number, and
/// are called from the thread that validates.
using MetricFunctions = std::map<std::string, std::function<double(const MetricTexts&)>>;

/// Scores models on a parallel text, by teacher forcing and by comparing translations with references. The result has
/// the same bits for any number of threads. Not thread-safe.
class Validator {
 public:
  /// `corpus` must have kept its text. The corpus, the runtime and the executor must outlive the validator. `files` is
  /// the folder for source.txt, reference.txt and last.txt, the newest translations; it is created if necessary. Empty:
  /// no files are written; metrics that are programs need them: Error{kInvalidArgument}. `functions` must have those
  /// that metrics name: Error{kInvalidArgument}, too.
  Validator(const Corpus& corpus, TokenizerPair tokenizers, const ValidationConfig& config,
            const runtime::Runtime& runtime, tensor::Device device, core::Executor& executor,
            std::filesystem::path files = {}, MetricFunctions functions = {});

  /// Validates a model without gradients, preferably with prepared weights. Error{kInterrupted} after a stop request.
  ValidationResult run(const nn::Seq2SeqModel& model, const SampleDraw& draw = {},
                       const core::ProgressSink& progress = {}, const std::stop_token& stop = {}) const;
  /// Returns detokenised translations of all pairs, in order, by the configured search or by another one.
  std::vector<std::string> translate(const nn::Seq2SeqModel& model, const core::ProgressSink& progress,
                                     const std::stop_token& stop) const;
  std::vector<std::string> translate(const nn::Seq2SeqModel& model, const decoding::DecodingOptions& options,
                                     const core::ProgressSink& progress, const std::stop_token& stop) const;
  /// Tries the settings of ValidationConfig::tune. `warnings` receives errors of programs whose failure is only a
  /// warning.
  TuneResult tune(const nn::Seq2SeqModel& model, std::vector<std::string>& warnings, const core::ProgressSink& progress,
                  const std::stop_token& stop) const;

 private:
  void measure_loss(const nn::Seq2SeqModel& model, ValidationResult& result, const std::stop_token& stop) const;
  void write_files(const std::vector<std::string>& hypotheses, std::string_view file,
                   std::vector<std::string>& warnings) const;
  /// Scores translations that `file` contains as well.
  evaluation::Score score(const MetricChoice& metric, const std::vector<std::string>& hypotheses, std::string_view file,
                          std::vector<std::string>& warnings, const std::stop_token& stop) const;

  /// Returns the value of a function, or NaN with a warning. The exceptions of the function pass.
  double call_function(const FunctionMetric& metric, const std::vector<std::string>& hypotheses,
                       std::vector<std::string>& warnings) const;

  const Corpus* corpus_;
  TokenizerPair tokenizers_;
  ValidationConfig config_;
  const runtime::Runtime* runtime_;
  tensor::Device device_;
  core::Executor* executor_;
  std::vector<std::string> references_;
  std::filesystem::path files_;
  MetricFunctions functions_;
  mutable bool texts_written_ = false;
};

}  // namespace dragoman::training
