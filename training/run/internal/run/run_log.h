#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <dragoman/core/json_fwd.h>

namespace dragoman::training {

/// metrics.jsonl: one JSON object a line, appended as training goes.
class RunLog {
 public:
  /// Goes on from a checkpoint that was made after `lines` lines, at `update`: keeps these lines and drops what a run
  /// wrote after them. A file that was lost or shortened meanwhile is no reason to stop: lines() says what is left of
  /// it, without lines of later updates.
  RunLog(std::filesystem::path path, std::uint64_t lines, std::int64_t update);
  /// Appends a line and hands it to the operating system. Error{kIo} if it does not take it.
  void append(const core::Json& line);
  std::uint64_t lines() const noexcept { return lines_; }
  /// Of those that it went on from, how many are of `update`: what was written of it before the checkpoint.
  std::uint64_t kept_of_update() const noexcept { return kept_of_update_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t lines_ = 0;
  std::uint64_t kept_of_update_ = 0;
};

}  // namespace dragoman::training
