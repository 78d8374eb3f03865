#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/training/training_state.h>

namespace dragoman::training {

core::Json to_json(const TrainingState& state);
/// Reads the state in this version or an older one. Error{kBadInput} for invalid content, Error{kUnsupported} for a
/// newer version.
TrainingState read_training_state(const core::Json& json, const std::string& where);

/// Reads state.json of a checkpoint after checking that all its files are those that were saved. It checks SHA256SUMS;
/// for a checkpoint of a program that wrote no sums, it checks that the files exist. Error{kBadInput} names the damaged
/// or missing file. Error{kUnsupported}: a newer program wrote the checkpoint. Error{kIo}: a file cannot be read now.
TrainingState open_checkpoint(const std::filesystem::path& checkpoint);

/// The folders `checkpoint-<update>` of a training run. A checkpoint is written under a temporary name, synced and then
/// renamed, so a folder with the final name is complete even if the process is killed. Only the process that has locked
/// the folder of the run may call the functions that write.
class CheckpointStore {
 public:
  /// Accesses nothing; the folder may not exist yet.
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Cleans up after a save that was killed: removes a partial checkpoint, and restores one that was being replaced.
  void clear_leftovers() const;
  /// Calls write(temporary folder), adds SHA256SUMS, syncs, and renames the folder. A checkpoint of the same update is
  /// replaced. If write or the disk fails, the temporary folder is removed and the error is rethrown.
  void save(std::int64_t update, const std::function<void(const std::filesystem::path&)>& write) const;
  /// Returns the updates with a checkpoint, ascending.
  std::vector<std::int64_t> updates() const;
  std::filesystem::path path(std::int64_t update) const;
  /// Checks a checkpoint and reads its state as open_checkpoint() does. Error{kBadInput}, too, if it is the state after
  /// an update that differs from the number in its name.
  TrainingState open(std::int64_t update) const;
  /// Removes the checkpoints before `saved`, which was saved last, except those in `keep_also` and the newest: `keep`
  /// remain, including `saved`, which is never removed. Later ones are not this run's, and stay.
  void prune(std::int64_t saved, std::int64_t keep, const std::set<std::int64_t>& keep_also) const;
  /// Renames a checkpoint to `checkpoint-<update>.damaged`, or .damaged-2 and so on if that exists. Returns the path.
  std::filesystem::path set_aside(std::int64_t update) const;

 private:
  std::filesystem::path folder_;
};

/// Writes tensors to a safetensors file. All tensors must have the same type.
void save_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                  const formats::Metadata& metadata = {});
/// Reads the tensors from a file. Error{kBadInput} if the file is damaged. Error{kInvalidArgument} if it is valid but
/// does not contain exactly these names, shapes and types.
void load_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace dragoman::training
