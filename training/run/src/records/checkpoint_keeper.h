#pragma once

#include "run/checkpoint.h"
#include "run_parts.h"
#include "run_progress.h"

#include <filesystem>
#include <set>
#include <vector>

namespace dragoman::training {

/// Writes the state of a run as checkpoints, reads it back, and decides which of them stay. Both references must
/// outlive it.
class CheckpointKeeper {
 public:
  CheckpointKeeper(RunParts& run, RunProgress& progress)
      : run_(&run), progress_(&progress), store_(run.config.output) {}

  /// Puts the run where its newest sound checkpoint was; damaged ones after it are set aside, with a warning.
  void load_last();
  /// Saves what there is now, and drops what is no longer needed.
  void save();
  /// Saves what was trained since the last checkpoint, so that it outlives an error that has nothing to do with it. A
  /// save that fails is a warning.
  void rescue() noexcept;
  /// Whether the configuration asks for a checkpoint now.
  bool due() const;
  /// Whether this update is among the best, and may thus be averaged at the end: its checkpoint must exist by then.
  bool due_for_mean() const;
  /// The checkpoint of this update, if there will be one, stays until it is released.
  void keep(std::int64_t update) { kept_.insert(update); }
  void release(std::int64_t update) noexcept { kept_.erase(update); }

  /// Puts parameters, moments and average back to the last checkpoint that checkpoint.every asked for, or, if they are
  /// still those of that one, to the one before it: what it holds may be finite and of no use. All else of the run goes
  /// on from where it is; TrainingState::restored says which it was.
  void restore_tensors();

  /// "run/checkpoint-100 is kept", for messages of errors.
  std::string kept() const;
  /// Of the newest checkpoint, -1 if there is none.
  std::int64_t saved_update() const noexcept { return saved_update_; }
  std::filesystem::path path(std::int64_t update) const { return store_.path(update); }
  /// The files of parameters that the mean at the end is taken of, their sums checked.
  std::vector<std::filesystem::path> files_of_mean() const;

 private:
  TrainingState load(const std::filesystem::path& checkpoint);
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
