#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/training/optimizer.h>

namespace dragoman::training {

/// What a run was in the middle of, between two updates. Together with parameters and moments it determines everything
/// that follows: all randomness is counter-based, so there is no generator state.
struct TrainingState {
  std::int64_t update = 0;  ///< updates done
  std::int64_t epoch = 0;   ///< counts from 0
  std::int64_t batch = 0;   ///< the next batch of the epoch
  /// The window of blocks that has this batch, and the first batch of the epoch that is in it, so that those before
  /// need not be made again to know where it begins. Zeros hold of every batch, and are slow.
  std::int64_t window = 0;
  std::int64_t window_begin = 0;
  /// The last update that was validated, -1 if none.
  std::int64_t validated = -1;
  /// Lines of metrics.jsonl at this point.
  std::uint64_t metric_lines = 0;
  /// Sums since the last line of metrics.jsonl.
  double window_loss = 0;
  double window_nll = 0;
  double window_alignment = 0;
  std::int64_t window_tokens = 0;
  core::Json early_stopping = core::Json::object();
  /// Of the schedule `plateau`.
  core::Json plateau = core::Json::object();
  /// Updates that were skipped or undone because of what was not finite.
  std::int64_t non_finite = 0;
  /// The checkpoint that the parameters went back to last, if no update has been applied since; else -1.
  std::int64_t restored = -1;
  /// What the gradient of the loss is multiplied by, where weights are multiplied in fp16; 0 elsewhere. And the updates
  /// since it last changed.
  std::int64_t loss_scale = 0;
  std::int64_t loss_scale_updates = 0;
  /// The optimiser whose moments these are, the files that hold them, and the update after which they began.
  std::string optimizer = "adamw";
  std::vector<std::string> optimizer_states = {"first_moment", "second_moment"};
  std::int64_t optimizer_begun_after = 0;

  /// What says which update comes next, of which batches.
  void stand_where(const TrainingState& other) noexcept {
    update = other.update;
    epoch = other.epoch;
    batch = other.batch;
    window = other.window;
    window_begin = other.window_begin;
  }
};

core::Json to_json(const TrainingState& state);
/// Reads this version or an older one: Error{kBadInput} for what is none, Error{kUnsupported} for a newer one.
TrainingState read_training_state(const core::Json& json, const std::string& where);

/// Reads state.json of a checkpoint, having checked that all its files are those that were saved (SHA256SUMS; only
/// their presence for a checkpoint of a program that wrote no sums). Error{kBadInput} names what is damaged or missing,
/// Error{kUnsupported} is a checkpoint of a newer program, Error{kIo} a file that cannot be read now.
TrainingState open_checkpoint(const std::filesystem::path& checkpoint);

/// The folders `checkpoint-<update>` of a training run. A checkpoint is written under a temporary name, synced and then
/// renamed, so one that has its name is complete, whenever the process was killed. What writes belongs to whoever has
/// locked the run's folder.
class CheckpointStore {
 public:
  /// Touches nothing; the folder need not exist yet.
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Tidies up after a save that was killed: half a checkpoint is removed, one that was being replaced is put back.
  void clear_leftovers() const;
  /// Calls write(temporary folder), adds SHA256SUMS, syncs and gives the folder its name; a checkpoint of the same
  /// update is replaced. If write or the disk fails, the half-written folder is removed and the error goes on to the
  /// caller.
  void save(std::int64_t update, const std::function<void(const std::filesystem::path&)>& write) const;
  /// Updates with a checkpoint, ascending.
  std::vector<std::int64_t> updates() const;
  std::filesystem::path path(std::int64_t update) const;
  /// Removes all but the newest `keep` and those in `keep_also`. Never removes the newest.
  void prune(std::int64_t keep, const std::set<std::int64_t>& keep_also) const;
  /// Renames a checkpoint to `checkpoint-<update>.damaged`, or .damaged-2 and so on if there is one; returns the path.
  std::filesystem::path set_aside(std::int64_t update) const;

 private:
  std::filesystem::path folder_;
};

/// Writes tensors as a safetensors file; all must have one dtype.
void save_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);
/// Fills the tensors from the file: Error{kBadInput} if it is damaged, Error{kInvalidArgument} if it is sound but does
/// not hold exactly these names, shapes and types.
void load_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace dragoman::training
