#pragma once

#include "run/checkpoint.h"
#include "run_parts.h"
#include "run_progress.h"

#include <filesystem>
#include <set>
#include <vector>

namespace dragoman::training {

/// Writes the state of a run to checkpoints, reads it back, and decides which checkpoints to keep. Both references must
/// outlive the object.
class CheckpointKeeper {
 public:
  CheckpointKeeper(RunParts& run, RunProgress& progress)
      : run_(&run), progress_(&progress), store_(run.config.output) {}

  /// Restores the newest valid checkpoint. Damaged ones after it are renamed, with a warning.
  void load_last();
  /// Saves the current state, and removes checkpoints that are no longer needed.
  void save();
  /// Saves the progress since the last checkpoint, so that it survives an unrelated error. A failed save is a warning.
  void rescue() noexcept;
  /// Returns whether the configuration schedules a checkpoint now.
  bool due() const;
  /// Returns whether this update is among the best and may be averaged at the end, so that it needs a checkpoint.
  bool due_for_mean() const;
  /// Keeps the checkpoint of this update, if there will be one, until it is released.
  void keep(std::int64_t update) { kept_.insert(update); }
  void release(std::int64_t update) noexcept { kept_.erase(update); }

  /// Restores parameters, moments and average from the last checkpoint of checkpoint.every. If they are still equal to
  /// that one, the previous one is restored: values may be finite but useless. All other state continues from the
  /// current position; TrainingState::restored stores which checkpoint it was.
  void restore_tensors();

  /// Returns "run/checkpoint-100 is kept", for error messages.
  std::string kept() const;
  /// Returns the update of the newest checkpoint, or -1 if there is none.
  std::int64_t saved_update() const noexcept { return saved_update_; }
  std::filesystem::path path(std::int64_t update) const { return store_.path(update); }
  /// Returns the parameter files that the mean at the end is computed from, after checking their sums.
  std::vector<std::filesystem::path> files_of_mean() const;

 private:
  TrainingState load(std::int64_t update);
  void load_moments(const std::filesystem::path& checkpoint, TrainingState& state);
  void load_average(const std::filesystem::path& checkpoint);
  bool is_regular(std::int64_t update) const;
  std::vector<std::int64_t> regular_updates() const;
  std::vector<std::int64_t> updates_of_mean() const;

  RunParts* run_;
  RunProgress* progress_;
  CheckpointStore store_;
  std::int64_t saved_update_ = -1;
  std::set<std::int64_t> kept_;
};

}  // namespace dragoman::training
