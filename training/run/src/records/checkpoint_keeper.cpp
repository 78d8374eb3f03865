#include "records/checkpoint_keeper.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {

namespace fs = std::filesystem;
using core::ErrorCode;

namespace {

void clear(const OptimizerState& state) {
  for (const NamedTensor& item : state.tensors)
    item.memory->clear(item.tensor.data,
                       static_cast<std::size_t>(item.tensor.size()) * tensor::size_of(item.tensor.dtype));
}

}  // namespace

void CheckpointKeeper::load_last() {
  const std::vector<std::int64_t> updates = store_.updates();
  require(!updates.empty(), ErrorCode::kIo,
          "{}: the checkpoints were there when this run began and are gone now; was the folder moved or removed?",
          run_->folder.path().string());
  std::vector<std::int64_t> damaged;
  for (auto update = updates.rbegin();; ++update) {
    try {
      progress_->state = load(*update);
      saved_update_ = progress_->state.update;
      break;
    } catch (const core::Error& error) {
      // An error that is not in these files also affects the previous checkpoint, or is temporary. Rank 0 has checked
      // the files before the other processes read them.
      if (!run_->ranks->leads()) throw;
      if (error.code() != ErrorCode::kBadInput || std::next(update) == updates.rend()) throw;
      run_->warn(fmt::format("{}; falling back to the checkpoint before it", error.what()));
      damaged.push_back(*update);
    }
  }
  for (const std::int64_t update : damaged)
    run_->warn(fmt::format("{}: kept as {}", store_.path(update).string(), store_.set_aside(update).string()));
}

TrainingState CheckpointKeeper::load(std::int64_t update) {
  const fs::path checkpoint = store_.path(update);
  TrainingState state = store_.open(update);
  const std::string where = (checkpoint / RunFiles::kState).string();
  core::Json chosen = state.early_stopping;
  progress_->other_metrics.restore(chosen.is_object() ? chosen.value("others", core::Json()) : core::Json(),
                                   where + ": early_stopping");
  if (chosen.is_object()) chosen.erase("others");
  progress_->early_stopping.restore(chosen, where + ": early_stopping");
  progress_->plateau.restore(state.plateau, where + ": plateau");
  load_tensors(checkpoint / formats::ModelFiles::kWeights, parameter_views(run_->trained()));
  load_moments(checkpoint, state);
  load_average(checkpoint);
  return state;
}

/// Moments of another optimiser are not usable; the new one then starts with zeros. adam and adamw have the same
/// moments.
void CheckpointKeeper::load_moments(const fs::path& checkpoint, TrainingState& state) {
  const auto family = [](std::string_view kind) { return kind == "adamw" ? "adam" : kind; };
  Optimizer& optimizer = *run_->optimizer;
  const std::string_view kind = name_of(run_->config.training.optimizer.kind);
  const bool same = family(state.optimizer) == family(kind);
  if (!same) {
    run_->warn(fmt::format("{}: holds what the optimizer '{}' keeps; '{}' begins with moments of zeros",
                           checkpoint.string(), state.optimizer, kind));
    state.optimizer_begun_after = state.update;
  }
  for (const OptimizerState& kept : optimizer.states()) {
    const bool is_there = std::ranges::find(state.optimizer_states, kept.name) != state.optimizer_states.end();
    if (same && is_there)
      load_tensors(checkpoint / (kept.name + ".safetensors"), kept.tensors);
    else
      clear(kept);
  }
  optimizer.begin_after(state.optimizer_begun_after);
}

void CheckpointKeeper::load_average(const fs::path& checkpoint) {
  Optimizer& optimizer = *run_->optimizer;
  if (!optimizer.has_average()) return;
  if (fs::exists(checkpoint / RunFiles::kAveragedParameters))
    load_tensors(checkpoint / RunFiles::kAveragedParameters, optimizer.averages());
  else
    optimizer.start_average();
}

bool CheckpointKeeper::is_regular(std::int64_t update) const {
  const std::int64_t every = run_->config.checkpoint.every;
  return every > 0 && update % every == 0;
}

/// Returns the checkpoints that can be restored. A checkpoint that an interruption wrote must not affect results.
std::vector<std::int64_t> CheckpointKeeper::regular_updates() const {
  std::vector<std::int64_t> regular;
  for (const std::int64_t update : store_.updates())
    if (is_regular(update) && update <= progress_->state.update) regular.push_back(update);
  return regular;
}

void CheckpointKeeper::restore_tensors() {
  const std::vector<std::int64_t> regular = regular_updates();
  core::require(!regular.empty(), ErrorCode::kIo, "{}: there is no checkpoint to go back to",
                run_->folder.path().string());
  std::int64_t& restored = progress_->state.restored;
  auto chosen = std::prev(regular.end());
  while (restored >= 0 && *chosen >= restored && chosen != regular.begin()) --chosen;
  const fs::path checkpoint = store_.path(*chosen);
  TrainingState state = store_.open(*chosen);
  load_tensors(checkpoint / formats::ModelFiles::kWeights, parameter_views(run_->trained()));
  load_moments(checkpoint, state);
  load_average(checkpoint);
  restored = *chosen;
}

void CheckpointKeeper::save() {
  TrainingState& state = progress_->state;
  Optimizer& optimizer = *run_->optimizer;
  core::require(optimizer.parameters_are_finite(*run_->context), ErrorCode::kInvalidArgument,
                "update {}: training diverged, parameters are no longer finite numbers; they are not saved, and {}; "
                "lower training.schedule.learning_rate, lengthen its warm-up or set training.clip_norm",
                state.update, kept());
  state.metric_lines = progress_->metrics->lines();
  state.early_stopping = progress_->early_stopping.save();
  state.plateau = progress_->plateau.save();
  const std::vector<OptimizerState> kept = optimizer.states();
  state.optimizer = name_of(run_->config.training.optimizer.kind);
  state.optimizer_begun_after = optimizer.begun_after();
  state.optimizer_states.clear();
  for (const OptimizerState& moments : kept) state.optimizer_states.push_back(moments.name);
  if (core::Json others = progress_->other_metrics.save(); !others.is_null())
    state.early_stopping["others"] = std::move(others);
  store_.save(state.update, [&](const fs::path& checkpoint) {
    save_tensors(checkpoint / formats::ModelFiles::kWeights, parameter_views(run_->trained()));
    for (const OptimizerState& moments : kept)
      save_tensors(checkpoint / (moments.name + ".safetensors"), moments.tensors);
    if (optimizer.has_average()) save_tensors(checkpoint / RunFiles::kAveragedParameters, optimizer.averages());
    core::write_file(checkpoint / RunFiles::kState, to_json(state).dump(2) + "\n");
  });
  saved_update_ = state.update;
  progress_->unsaved = false;
  const std::vector<std::int64_t> wanted = updates_of_mean();
  std::set<std::int64_t> also(wanted.begin(), wanted.end());
  also.insert(kept_.begin(), kept_.end());
  if (run_->config.training.on_non_finite == NonFinitePolicy::kRestore) {
    const std::vector<std::int64_t> regular = regular_updates();
    const auto keep = std::min(regular.size(), static_cast<std::size_t>(run_->config.checkpoint.keep));
    also.insert(regular.end() - static_cast<std::ptrdiff_t>(keep), regular.end());
  }
  store_.prune(state.update, run_->config.checkpoint.keep, also);
}

std::string CheckpointKeeper::kept() const {
  if (!run_->ranks->leads()) return "what rank 0 has saved is kept";
  return saved_update_ >= 0 ? store_.path(saved_update_).string() + " is kept" : "there is no checkpoint yet";
}

void CheckpointKeeper::rescue() noexcept {
  if (!progress_->unsaved) return;
  try {
    save();
  } catch (const std::exception& error) {
    run_->warn(error.what());
  }
}

bool CheckpointKeeper::due() const {
  return progress_->unsaved && checkpoint_scheduled(run_->config.checkpoint, progress_->state);
}

bool CheckpointKeeper::due_for_mean() const {
  const std::int64_t now = progress_->state.update;
  if (!averages_best(run_->config.checkpoint) || saved_update_ == now) return false;
  return std::ranges::any_of(progress_->early_stopping.ranking(),
                             [&](const ScoredUpdate& best) { return best.update == now; });
}

/// Returns the updates whose checkpoints would be averaged if training ended now.
std::vector<std::int64_t> CheckpointKeeper::updates_of_mean() const {
  const CheckpointConfig& config = run_->config.checkpoint;
  std::vector<std::int64_t> wanted;
  if (averages_best(config))
    for (const ScoredUpdate& best : progress_->early_stopping.ranking()) wanted.push_back(best.update);
  if (config.average_of == AverageOf::kLast) {
    // Excludes checkpoints that an interruption wrote, because they must not change the result.
    const bool ended = progress_->at_end(run_->config);
    for (const std::int64_t update : store_.updates())
      if (update > 0 && update <= progress_->state.update &&
          (is_regular(update) || (update == progress_->state.update && ended)))
        wanted.push_back(update);
    const auto most = static_cast<std::size_t>(config.average);
    if (wanted.size() > most) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(most));
  }
  std::ranges::sort(wanted);
  return wanted;
}

std::vector<fs::path> CheckpointKeeper::files_of_mean() const {
  std::vector<fs::path> files;
  for (const std::int64_t update : updates_of_mean()) {
    const fs::path checkpoint = store_.path(update);
    const fs::path file =
        checkpoint / (run_->optimizer->has_average() ? RunFiles::kAveragedParameters : formats::ModelFiles::kWeights);
    if (!fs::exists(file)) continue;
    store_.open(update);  // checks the sums
    files.push_back(file);
  }
  return files;
}

}  // namespace dragoman::training
