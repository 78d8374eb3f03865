#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/collective/collective.h>
#include <dragoman/collective/device_links.h>
#include <dragoman/core/log.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/plugins/host.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>
#include <dragoman/training/config.h>
#include <dragoman/training/early_stopping.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {

/// Creates a model without weights from the name of its type and the configuration keys of that type.
using ModelFactory = std::function<std::unique_ptr<nn::Seq2SeqModel>(
    const std::string& type, const nn::SequenceSpec& spec, const core::Json& options)>;

using TokenizerFactory = std::function<std::unique_ptr<tokenizer::Tokenizer>(const tokenizer::TokenizerSpec& spec,
                                                                             const tokenizer::TokenizerFile& file)>;

/// The services and settings that a trainer gets from its program.
struct TrainerEnvironment {
  const runtime::Runtime* runtime = nullptr;
  ModelFactory make_model;
  /// Returns the name of the plugin that provides a model type, for config.json. An empty result or function means
  /// built-in types.
  std::function<std::string(const std::string& type)> plugin_of;
  /// Creates the tokenizer of a file with a named kind. Required only for such files.
  TokenizerFactory make_tokenizer;
  /// As plugin_of, for a kind of tokenizer.
  std::function<std::string(const std::string& type)> plugin_of_tokenizer;
  /// Whether the configuration may run programs, which commands_of() lists. Otherwise a trainer rejects a configuration
  /// with programs: Error{kBadInput}. Set it for configurations that you trust as you trust a shell script.
  bool allow_commands = false;
  /// The functions that metrics of validations name (ExternalMetric::function).
  MetricFunctions metrics;
  core::LogSink log;
  /// Receives every update with the values loss, tokens/s and learning-rate.
  core::ProgressSink progress;
  /// Version and instruction set of this build, for run.json: only the same build gives the same bytes.
  core::Json build = core::Json::object();
  /// The processes that train together, including this one. Must outlive the trainer. nullptr: no other process.
  collective::Collective* ranks = nullptr;
  /// Links by which the devices of the processes exchange gradients (Host::link()). Must outlive the trainer. nullptr:
  /// gradients pass through host memory. Results do not depend on it.
  collective::DeviceLinks* links = nullptr;
  /// The minimum number of gradient values that are summed over the processes at a time. Results do not depend on it.
  std::int64_t bucket_values = std::int64_t{1} << 20;
};

/// Returns an environment with all types of models and tokenizers that are registered with the host, which must outlive
/// the trainer. The sinks are empty.
TrainerEnvironment make_environment(const plugins::Host& host);

/// Returns the configuration with every key, including the model's keys as the model interprets them. Reads no files
/// except config.json of model.from.
core::Json resolved_configuration(const TrainingConfig& config, const TrainerEnvironment& environment);

/// Returns the programs that a run with this configuration starts (validation.metrics), each as `NAME: COMMAND`.
std::vector<std::string> commands_of(const TrainingConfig& config);

enum class StartMode : std::uint8_t {
  kFresh,   ///< the output folder must not contain a run
  kResume,  ///< continues from the last checkpoint; rejects changed keys that affect results
  kFork,    ///< continues from the last checkpoint, whatever has changed
};

struct TrainingSummary {
  std::int64_t updates = 0;
  std::int64_t epochs = 0;
  bool stopped_early = false;
  double training_loss =
      0;               ///< per target token, label-smoothed, of the last update of this process; 0 if there was none
  std::string metric;  ///< the metric that selects the best model: "bleu"
  std::optional<ScoredUpdate> best;
  std::optional<double> average;  ///< the value of the mean of checkpoints, if it is better than `best`
  std::filesystem::path last_checkpoint;
  /// The exported model folder: the best model if there was a validation, otherwise the last one.
  std::filesystem::path model;
};

/// One training run in one folder:
///
///     const TrainingConfig config = read_training_config(core::load_yaml("train.yml"), "train.yml");
///     Trainer trainer(config, make_environment(plugins::default_host()), StartMode::kFresh);
///     const TrainingSummary summary = trainer.run();
///     std::cout << summary.updates << ' ' << summary.model;
///
/// Writes `run.json`, copies of the tokenizers, `metrics.jsonl`, `checkpoint-<update>/`, and the model folders `best/`,
/// `last/` and, if configured, `average/`. The folder is locked while the trainer exists: a second trainer fails before
/// it changes anything. Tokenizers and data that the run reads once may change or vanish afterwards. The bytes of all
/// parameters are a function of configuration, data and build. They do not depend on the number of threads or
/// processes, or on interruptions that were resumed. Not thread-safe.
///
/// If several processes train together (TrainerEnvironment::ranks), each has a trainer with an equal configuration. A
/// difference that matters is an error that names it. The processes share the TrainConfig::accumulate batches of an
/// update. Rank 0 alone writes, validates and decides; all processes read a checkpoint to continue from. A stop request
/// in any process stops all. The collective is closed when run() returns or is interrupted. After any other error, the
/// caller notifies the other processes with Collective::abort().
class Trainer {
 public:
  /// Locks the folder, reads data and tokenizers, creates the model and, on resume, loads the last checkpoint. All
  /// errors in the configuration and the files are reported here, before the first update. A continued run uses the
  /// copies of the tokenizers in its folder. If a checkpoint is damaged and there is an older one, the damaged one is
  /// renamed to `checkpoint-<update>.damaged` with a warning.
  Trainer(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop = {});
  ~Trainer();

  /// Trains to the end. After a stop request, the current update is finished, a checkpoint is written, and
  /// Error{kInterrupted} is thrown. A non-finite loss or gradient is an Error{kInvalidArgument} unless
  /// TrainConfig::on_non_finite allows it; the last checkpoint is kept. A validation that fails ends training with its
  /// error, after a checkpoint. A model folder that cannot be written is a warning, and an Error{kIo} at the end of
  /// training.
  TrainingSummary run(const std::stop_token& stop = {});

  const nn::Seq2SeqModel& model() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::training
