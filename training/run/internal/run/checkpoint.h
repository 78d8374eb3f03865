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
#include <dragoman/training/training_state.h>

namespace dragoman::training {

core::Json to_json(const TrainingState& state);
/// Reads this version or an older one: Error{kBadInput} for what is none, Error{kUnsupported} for a newer one.
TrainingState read_training_state(const core::Json& json, const std::string& where);

/// Reads state.json of a checkpoint, after a check that all its files are the ones that were saved (SHA256SUMS; for a
/// checkpoint of a program that wrote no sums, only that they are present). Error{kBadInput} names the damaged or
/// missing file, Error{kUnsupported} is a checkpoint of a newer program, and Error{kIo} a file that cannot be read now.
TrainingState open_checkpoint(const std::filesystem::path& checkpoint);

/// The folders `checkpoint-<update>` of a training run. A checkpoint is written under a temporary name, synced and then
/// renamed, so a folder with the final name is complete even if the process is killed. Only the process that has locked
/// the run's folder may call the functions that write.
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
