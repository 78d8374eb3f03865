#include "checkpoint_keeper.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::training {

namespace fs = std::filesystem;
using core::ErrorCode;

void CheckpointKeeper::load_last() {
  const std::vector<std::int64_t> updates = store_.updates();
  require(!updates.empty(), ErrorCode::kIo,
          "{}: the checkpoints were there when this run began and are gone now; was the folder moved or removed?",
          run_->folder.path().string());
  std::vector<std::int64_t> damaged;
  for (auto update = updates.rbegin();; ++update) {
    try {
      progress_->state = load(store_.path(*update));
      saved_update_ = progress_->state.update;
      break;
    } catch (const core::Error& error) {
      // What is wrong with anything but these files is wrong with the checkpoint before, too, or passes. And rank 0
      // has looked through them before others do.
      if (!run_->ranks->leads()) throw;
      if (error.code() != ErrorCode::kBadInput || std::next(update) == updates.rend()) throw;
      run_->warn(fmt::format("{}; falling back to the checkpoint before it", error.what()));
      damaged.push_back(*update);
    }
  }
  for (const std::int64_t update : damaged)
    run_->warn(fmt::format("{}: kept as {}", store_.path(update).string(), store_.set_aside(update).string()));
}

TrainingState CheckpointKeeper::load(const fs::path& checkpoint) {
  TrainingState state = open_checkpoint(checkpoint);
  Optimizer& optimizer = *run_->optimizer;
  progress_->early_stopping.restore(state.early_stopping, (checkpoint / "state.json").string() + ": early_stopping");
  load_tensors(checkpoint / "model.safetensors", parameter_views(run_->trained()));
  load_tensors(checkpoint / "first_moment.safetensors", optimizer.first_moments());
  load_tensors(checkpoint / "second_moment.safetensors", optimizer.second_moments());
  if (!optimizer.has_average()) return state;
  if (fs::exists(checkpoint / "average.safetensors"))
    load_tensors(checkpoint / "average.safetensors", optimizer.averages());
  else
    optimizer.start_average();
  return state;
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
  store_.save(state.update, [&](const fs::path& checkpoint) {
    save_tensors(checkpoint / "model.safetensors", parameter_views(run_->trained()));
    save_tensors(checkpoint / "first_moment.safetensors", optimizer.first_moments());
    save_tensors(checkpoint / "second_moment.safetensors", optimizer.second_moments());
    if (optimizer.has_average()) save_tensors(checkpoint / "average.safetensors", optimizer.averages());
    core::write_file(checkpoint / "state.json", to_json(state).dump(2) + "\n");
  });
  saved_update_ = state.update;
  progress_->unsaved = false;
  const std::vector<std::int64_t> wanted = updates_of_mean();
  store_.prune(run_->config.checkpoint.keep, {wanted.begin(), wanted.end()});
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
  const std::int64_t every = run_->config.checkpoint.every;
  return progress_->unsaved && every > 0 && progress_->state.update % every == 0;
}

bool CheckpointKeeper::due_for_mean() const {
  const std::int64_t now = progress_->state.update;
  if (!averages_best(run_->config.checkpoint) || saved_update_ == now) return false;
  return std::ranges::any_of(progress_->early_stopping.ranking(),
                             [&](const ScoredUpdate& best) { return best.update == now; });
}

/// The updates whose checkpoints the mean at the end is taken of, as it would be taken now.
std::vector<std::int64_t> CheckpointKeeper::updates_of_mean() const {
  const CheckpointConfig& config = run_->config.checkpoint;
  std::vector<std::int64_t> wanted;
  if (averages_best(config))
    for (const ScoredUpdate& best : progress_->early_stopping.ranking()) wanted.push_back(best.update);
  if (config.average_of == AverageOf::kLast) {
    // Not those that owe their existence to an interruption, which must not change the result.
    const bool ended = progress_->at_end(run_->config.training);
    for (const std::int64_t update : store_.updates())
      if ((config.every > 0 && update % config.every == 0) || (update == progress_->state.update && ended))
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
    const fs::path file = checkpoint / (run_->optimizer->has_average() ? "average.safetensors" : "model.safetensors");
    if (!fs::exists(file)) continue;
    open_checkpoint(checkpoint);  // for the sums
    files.push_back(file);
  }
  return files;
}

}  // namespace dragoman::training
