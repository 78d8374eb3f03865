#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <dragoman/core/append_file.h>
#include <dragoman/core/json_fwd.h>

namespace dragoman::training {

/// metrics.jsonl: one JSON object per line, appended during training.
class RunLog {
 public:
  /// Continues from a checkpoint that was written after `lines` lines, at `update`: keeps these lines and drops later
  /// ones. A file that was lost or truncated meanwhile is no error: lines() returns the number of remaining lines,
  /// without lines of later updates.
  RunLog(const std::filesystem::path& path, std::uint64_t lines, std::int64_t update);
  /// Appends a line and passes it to the operating system. Error{kIo} if that fails.
  void append(const core::Json& line);
  std::uint64_t lines() const noexcept { return lines_; }
  /// Returns the number of existing lines of `update`, which were written before the checkpoint.
  std::uint64_t kept_of_update() const noexcept { return kept_of_update_; }

 private:
  std::optional<core::AppendFile> file_;
  std::uint64_t lines_ = 0;
  std::uint64_t kept_of_update_ = 0;
};

}  // namespace dragoman::training
