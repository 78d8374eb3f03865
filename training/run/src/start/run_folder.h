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

/// The folder of a run, for this trainer alone as long as the object lives. Nothing in it is touched before it is
/// locked.
class RunFolder {
 public:
  /// Locks the folder, which a fresh run makes, and clears away what a killed save left in it. To go on, it must hold a
  /// checkpoint and run.json, which is read and checked: Error{kInvalidArgument} if the folder does not fit `mode`,
  /// Error{kIo} if another process trains in it, Error{kBadInput} for a damaged run.json and Error{kUnsupported} for
  /// one of a newer program.
  ///
  /// One that does not own the folder (`owns`), since another process of the job does, only reads in it: nothing is
  /// locked, made or cleared away, and a fresh run needs no folder at all.
  RunFolder(std::filesystem::path path, StartMode mode, bool owns = true);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// Removes the folder if it was made here and nothing was written.
  ~RunFolder();

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }
  /// Error{kIo} if the path leads to another folder by now, or to none: whatever is written there is not of this run.
  void require_still_there() const;
  /// run.json as it was found; null for a fresh run.
  const core::Json& record() const noexcept { return record_; }
  /// Whether a model folder of this name (`best`, say) has its weights.
  bool holds_model(std::string_view name) const;
  /// The sum in run.json of a file that was copied into the folder at the start of the run; empty if there is none.
  std::string recorded_sum(std::string_view name) const;

 private:
  /// Device and number of a folder.
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
