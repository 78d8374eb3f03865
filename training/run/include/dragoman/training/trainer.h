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

namespace dragoman::training {

/// Makes a model without weights from the name of its type and its own configuration keys.
using ModelFactory = std::function<std::unique_ptr<nn::Seq2SeqModel>(
    const std::string& type, const nn::SequenceSpec& spec, const core::Json& options)>;

using TokenizerFactory = std::function<std::unique_ptr<tokenizer::Tokenizer>(const tokenizer::TokenizerSpec& spec,
                                                                             const tokenizer::TokenizerFile& file)>;

/// What a trainer takes from its surroundings.
struct TrainerEnvironment {
  const runtime::Runtime* runtime = nullptr;
  ModelFactory make_model;
  /// Name of the plugin that brings a model type, for config.json; empty, or no function, for what is built in.
  std::function<std::string(const std::string& type)> plugin_of;
  /// Makes the tokenizer of a file whose kind has a name; needed only for such ones.
  TokenizerFactory make_tokenizer;
  /// As plugin_of, of a kind of tokenizer.
  std::function<std::string(const std::string& type)> plugin_of_tokenizer;
  /// Whether the configuration may run programs, which commands_of() lists. If not, a trainer refuses a configuration
  /// that has any: Error{kBadInput}. Set it for configurations that you trust as you do a shell script.
  bool allow_commands = false;
  core::LogSink log;
  /// Gets every update with the figures loss, tokens/s and learning-rate.
  core::ProgressSink progress;
  /// Version and instruction set of this build, for run.json: results are the same bytes for the same build only.
  core::Json build = core::Json::object();
  /// The processes that train together, of which this is one; it must outlive the trainer. nullptr: there is no other.
  collective::Collective* ranks = nullptr;
  /// By which their devices hand each other gradients (Host::link()); it must outlive the trainer. nullptr: gradients
  /// go through the host's memory. Results do not depend on it.
  collective::DeviceLinks* links = nullptr;
  /// Of the gradients, how many values are summed over the processes at a time, at least. Results do not depend on it.
  std::int64_t bucket_values = std::int64_t{1} << 20;
};

/// With every type of models and tokenizers that is registered with the host, which must outlive the trainer. Sinks are
/// left empty.
TrainerEnvironment make_environment(const plugins::Host& host);

/// The configuration with every key, those of the model included, as the model itself understood them. Reads no
/// files but config.json of model.from.
core::Json resolved_configuration(const TrainingConfig& config, const TrainerEnvironment& environment);

/// The programs that a run with this configuration starts (validation.metrics), each as `NAME: COMMAND`.
std::vector<std::string> commands_of(const TrainingConfig& config);

enum class StartMode : std::uint8_t {
  kFresh,   ///< the output folder must not hold a run
  kResume,  ///< goes on from the last checkpoint; a changed key that affects results is refused
  kFork,    ///< goes on from the last checkpoint, whatever has changed
};

struct TrainingSummary {
  std::int64_t updates = 0;
  std::int64_t epochs = 0;
  bool stopped_early = false;
  double training_loss =
      0;               ///< per target token, label-smoothed, of the last update of this process; 0 if there was none
  std::string metric;  ///< by which the best is chosen: "bleu"
  std::optional<ScoredUpdate> best;
  std::optional<double> average;  ///< the value of the mean of checkpoints, where that is better still
  std::filesystem::path last_checkpoint;
  /// The exported model folder: the best one if there was a validation, else the last.
  std::filesystem::path model;
};

/// One training run in one folder:
///
///     training::Trainer trainer(config, training::make_environment(host), training::StartMode::kFresh);
///     trainer.run(stop_token);
///
/// Writes `run.json`, copies of the tokenizers, `metrics.jsonl`, `checkpoint-<update>/`, and model folders `best/`,
/// `last/` and, if asked, `average/`. The folder is locked as long as the trainer lives: a second one is refused before
/// it touches anything. What the run reads once, tokenizers and data, may change or vanish afterwards. The bytes of all
/// parameters are a function of configuration, data and build: not of the threads, of interruptions that were resumed,
/// or of the number of processes. One thread at a time.
///
/// Where several processes train (TrainerEnvironment::ranks), each has a trainer of an equal configuration; what
/// differs and matters is an error that names it. TrainConfig::accumulate batches are shared out among them. Rank 0
/// alone writes, validates and decides; to go on from a checkpoint all read it. A stop that any process asks for stops
/// all. When run() has returned, or was interrupted, the collective is closed; after any other error the caller tells
/// the others by Collective::abort().
class Trainer {
 public:
  /// Locks the folder, reads data and tokenizers, makes the model and, on resume, loads the last checkpoint. Everything
  /// that can be wrong with the configuration or the files is found here, before the first update. Of a run that goes
  /// on the tokenizers are the copies in its folder; a damaged checkpoint is put aside (`checkpoint-<update>.damaged`)
  /// with a warning if there is an older one.
  Trainer(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop = {});
  ~Trainer();

  /// Trains to the end. If `stop` is requested, the update in progress is finished, a checkpoint written, and
  /// Error{kInterrupted} thrown. A loss or gradient that is not finite is Error{kInvalidArgument}, unless
  /// TrainConfig::on_non_finite allows it; the last checkpoint stays. A validation that fails ends training with its
  /// error, after a checkpoint was saved. A model folder that cannot be written is a warning, and Error{kIo} at the end
  /// of training.
  TrainingSummary run(const std::stop_token& stop = {});

  const nn::Seq2SeqModel& model() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::training
