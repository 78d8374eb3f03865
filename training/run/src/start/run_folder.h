#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include <dragoman/core/file_lock.h>
#include <dragoman/core/json.h>
#include <dragoman/training/run_files.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {

/// The folder of a run, for this trainer alone while the object exists. Nothing in it is changed before it is locked.
class RunFolder {
 public:
  /// Locks the folder, which is created for a fresh run, and removes leftovers of a killed save. A continued run needs
  /// a checkpoint and run.json, which is read and checked. Error{kInvalidArgument} if the folder does not fit `mode`,
  /// Error{kIo} if another process trains in it, Error{kBadInput} for a damaged run.json, and Error{kUnsupported} for
  /// one of a newer program.
  ///
  /// Without ownership (`owns`), because another process of the job owns the folder, the object only reads: it does not
  /// lock, create or clean up anything, and a fresh run needs no folder.
  RunFolder(std::filesystem::path path, StartMode mode, bool owns = true);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// Removes the folder if it was created here and nothing was written.
  ~RunFolder();

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }
  /// Error{kIo} if the path now leads to another folder or to none: files there would not belong to this run.
  void require_still_there() const;
  /// Returns the initial content of run.json; null for a fresh run.
  const core::Json& record() const noexcept { return record_; }
  /// Returns whether a model folder with this name, such as `best`, has its weights.
  bool holds_model(std::string_view name) const;
  /// Returns the sum in run.json of a file that was copied into the folder at the start of the run; empty if there is
  /// none.
  std::string recorded_sum(std::string_view name) const;

 private:
  /// Device and inode of a folder.
  using Identity = std::pair<std::uint64_t, std::uint64_t>;
  static Identity identity_of(const std::filesystem::path& path);
  void take(StartMode mode, bool exists);
  void require_no_links() const;
  void require_room() const;

  std::filesystem::path path_;
  Identity identity_;
  bool made_ = false;
  std::optional<core::FileLock> lock_;
  core::Json record_;
};

}  // namespace dragoman::training
