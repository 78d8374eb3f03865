#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <dragoman/core/options.h>
#include <dragoman/training/optimizer.h>

namespace dragoman::training {

/// What a run was in the middle of, between two updates. Together with parameters and moments it determines everything
/// that follows: all randomness is counter-based, so there is no generator state.
struct TrainingState {
  std::int64_t update = 0;  ///< updates done
  std::int64_t epoch = 0;   ///< counts from 0
  std::int64_t batch = 0;   ///< the next batch of the epoch
  /// The last update that was validated, -1 if none.
  std::int64_t validated = -1;
  /// Lines of metrics.jsonl at this point.
  std::uint64_t metric_lines = 0;
  /// Sums since the last line of metrics.jsonl.
  double window_loss = 0;
  double window_nll = 0;
  std::int64_t window_tokens = 0;
  core::Json early_stopping = core::Json::object();
};

core::Json to_json(const TrainingState& state);
TrainingState read_training_state(const core::Json& json, const std::string& where);

/// The folders `checkpoint-<update>` of a training run. A checkpoint is written under a temporary name, synced and then
/// renamed, so one that has its name is complete, whenever the process was killed.
class CheckpointStore {
 public:
  /// Removes what an interrupted save left behind. The folder need not exist yet.
  explicit CheckpointStore(std::filesystem::path folder);

  /// Calls write(temporary folder), syncs what it wrote and gives it its name; a checkpoint of the same update is
  /// replaced. If write or the disk fails, the half-written folder is removed and the error goes on to the caller.
  void save(std::int64_t update, const std::function<void(const std::filesystem::path&)>& write) const;
  /// Updates with a checkpoint, ascending.
  std::vector<std::int64_t> updates() const;
  std::filesystem::path path(std::int64_t update) const;
  /// Removes all but the newest `keep` and those in `keep_also`. Never removes the newest.
  void prune(std::int64_t keep, const std::set<std::int64_t>& keep_also) const;
  /// Removes the checkpoints after `update`: a run that goes on from an older one will make them again.
  void remove_after(std::int64_t update) const;

 private:
  std::filesystem::path folder_;
};

/// Writes tensors as a safetensors file; all must have one dtype.
void save_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);
/// Fills the tensors from the file, which must hold exactly these names, shapes and types: Error{kBadInput} otherwise.
void load_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

/// Writes the folder's directory entries to disk.
void sync_folder(const std::filesystem::path& folder);
/// Puts the folder `from` in the place of `to` in one step if the system can; `to` need not exist. What `to` held is
/// removed.
void replace_folder(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace dragoman::training
