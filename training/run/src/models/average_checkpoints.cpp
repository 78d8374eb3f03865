#include "dragoman/training/average_checkpoints.h"

#include "models/export.h"
#include "run/checkpoint.h"
#include "start/run_folder.h"
#include "start/run_setup.h"
#include "start/run_start.h"

#include <algorithm>
#include <map>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/finite_weights.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/training/low_rank_adapters.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;

/// Returns the folder of the run of a checkpoint. If the checkpoint is named by a link, it is the folder that contains
/// the checkpoint itself, or else the folder that contains the link, if only that belongs to a run.
fs::path run_of(const fs::path& checkpoint) {
  std::error_code ignored;
  const fs::path resolved = fs::canonical(checkpoint, ignored).parent_path();
  const fs::path named = (fs::absolute(checkpoint) / "").lexically_normal().parent_path().parent_path();
  const auto is_run = [&](const fs::path& folder) { return fs::exists(folder / RunFiles::kRecord, ignored); };
  return is_run(named) && !is_run(resolved) ? named : resolved;
}

TrainingConfig configuration_of(const RunFolder& folder) {
  const std::string where = folder.file(RunFiles::kRecord).string() + ": configuration";
  core::require(folder.record().contains("configuration"), ErrorCode::kBadInput, "{} is missing", where);
  TrainingConfig config = read_training_config(folder.record()["configuration"], where);
  config.output = folder.path().string();
  return config;
}

/// The part of a run that its models depend on.
struct Run {
  Run(const fs::path& path, std::size_t number_of_run, const TrainerEnvironment& environment)
      : number(number_of_run),
        folder(path, StartMode::kResume, false),
        config(configuration_of(folder)),
        start(StartingModel::find(config, folder.record(), environment)),
        tokenizers(load_tokenizers(config.data, {.folder = &folder, .environment = &environment, .copies = true})),
        spec(start ? start->spec(config, tokenizers) : make_spec(config, tokenizers)) {}

  const core::Json& record() const { return folder.record(); }

  std::size_t number;
  RunFolder folder;
  TrainingConfig config;
  std::optional<StartingModel> start;
  RunTokenizers tokenizers;
  nn::SequenceSpec spec;
};

/// Opens the runs of checkpoints and compares them with the first one.
class Runs {
 public:
  explicit Runs(const TrainerEnvironment& environment) : environment_(&environment) {}

  const Run& add(const fs::path& checkpoint) {
    const fs::path folder = run_of(checkpoint);
    std::error_code ignored;
    core::require(fs::exists(folder / RunFiles::kRecord, ignored), ErrorCode::kBadInput,
                  "{}: the folder that contains it has no {}, which specifies the model and its tokenizers; name "
                  "checkpoints in the folder of their run",
                  checkpoint.string(), RunFiles::kRecord);
    const auto [place, is_new] = runs_.try_emplace(folder.string(), nullptr);
    if (!is_new) return *place->second;
    place->second = std::make_unique<Run>(folder, runs_.size(), *environment_);
    if (first_ == nullptr)
      first_ = place->second.get();
    else
      require_same_model(*place->second);
    return *place->second;
  }
  const Run& first() const { return *first_; }

 private:
  static core::Json model_of(const Run& run) {
    return {{"type", run.config.model.type},
            {"sequences", nn::to_json(run.spec)},
            {"model", run.config.model.options},
            {"base", run.folder.recorded_sum(RunFiles::kBaseWeights)}};
  }

  void require_same_model(const Run& run) const {
    const auto same_content = [&](const RunTokenizer RunTokenizers::*side) {
      return (run.tokenizers.*side).spec == (first_->tokenizers.*side).spec;
    };
    core::require(same_content(&RunTokenizers::source) && same_content(&RunTokenizers::target), ErrorCode::kBadInput,
                  "{}: the run has other tokenizers than {}; only checkpoints with the same tokenizers can be averaged",
                  run.folder.path().string(), first_->folder.path().string());
    const std::string other = core::differences(model_of(*first_), model_of(run));
    core::require(other.empty(), ErrorCode::kBadInput,
                  "{}: the model of the run is not the one of {}: {}; only checkpoints of equal models can be averaged",
                  run.folder.path().string(), first_->folder.path().string(), other);
  }

  const TrainerEnvironment* environment_;
  std::map<std::string, std::unique_ptr<Run>> runs_;
  const Run* first_ = nullptr;
};

/// Returns the file of the parameters that the run would translate with after the update of the checkpoint.
fs::path parameters_of(const fs::path& checkpoint, const Run& run) {
  const fs::path average = checkpoint / RunFiles::kAveragedParameters;
  std::error_code ignored;
  const bool averages = run.config.training.ema_decay > 0 && fs::exists(average, ignored);
  return averages ? average : checkpoint / formats::ModelFiles::kWeights;
}

struct Checkpoint {
  fs::path path;
  std::size_t run = 0;  ///< in the order of the command line
  std::int64_t update = 0;
  fs::path parameters;
};

std::vector<Checkpoint> open_all(const std::vector<fs::path>& paths, Runs& runs) {
  std::vector<Checkpoint> checkpoints;
  for (const fs::path& path : paths) {
    const Run& run = runs.add(path);
    checkpoints.push_back({.path = path,
                           .run = run.number,
                           .update = open_checkpoint(path).update,
                           .parameters = parameters_of(path, run)});
  }
  // In the order of the trainer, which determines the last bits.
  std::ranges::sort(checkpoints, {}, [](const Checkpoint& one) { return std::pair(one.run, one.update); });
  return checkpoints;
}

}  // namespace

bool is_checkpoint(const fs::path& path) {
  std::error_code ignored;
  const bool has_state = fs::is_regular_file(path / RunFiles::kState, ignored);
  const bool has_weights = fs::is_regular_file(path / formats::ModelFiles::kWeights, ignored);
  if (has_state && has_weights) return true;
  // A checkpoint of a run that has lost a part still counts, so that the error names the part.
  return (has_state || has_weights) && !fs::exists(path / formats::ModelFiles::kConfig, ignored) &&
         fs::exists(run_of(path) / RunFiles::kRecord, ignored);
}

void average_checkpoints(const std::vector<fs::path>& paths, const fs::path& output,
                         const TrainerEnvironment& environment) {
  core::require(!paths.empty(), ErrorCode::kInvalidArgument, "there is nothing to average: name at least one model");
  formats::require_replaceable(output);
  Runs runs(environment);
  std::vector<fs::path> files;
  std::int64_t update = 0;
  for (const Checkpoint& checkpoint : open_all(paths, runs)) {
    core::require_no_temporary_name(checkpoint.path, output);
    formats::require_finite_weights(checkpoint.parameters);
    files.push_back(checkpoint.parameters);
    update = std::max(update, checkpoint.update);
  }
  const Run& run = runs.first();
  const tensor::Device device = tensor::Device::kCpu;
  const auto model = make_model(run.config, environment, run.spec, device);
  if (run.config.training.lora.on()) {
    load_base(run.folder, model->parameters());
    LowRankAdapters adapters(run.config.training.lora, model->parameters(), environment.runtime->memory(device));
    adapters.keep_base();
    const auto store = adapters.make_store();
    average_tensors(files, *store);
    const auto executor = core::make_executor(1);
    const auto context = environment.runtime->make_context(device, *executor);
    adapters.merge(*context, *store, model->parameters());
  } else {
    average_tensors(files, model->parameters());
  }
  const std::string plugin = environment.plugin_of ? environment.plugin_of(run.config.model.type) : std::string();
  const ModelExports exports(run.config, run.tokenizers, run.record(), plugin, environment);
  exports.write_to(output, *model,
                   {.title = fmt::format("the mean of {} checkpoints", files.size()), .update = update});
}

}  // namespace dragoman::training
