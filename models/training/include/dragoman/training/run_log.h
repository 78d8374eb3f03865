#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

#include <dragoman/core/options.h>

namespace dragoman::training {

/// metrics.jsonl: one JSON object a line, appended as training goes.
class RunLog {
 public:
  /// Keeps the first `lines` lines of the file and drops what a run wrote after its last checkpoint. A file with fewer
  /// is Error{kBadInput}.
  RunLog(std::filesystem::path path, std::uint64_t lines);
  /// Appends a line and hands it to the operating system. Error{kIo} if it does not take it.
  void append(const core::Json& line);
  std::uint64_t lines() const noexcept { return lines_; }

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
  std::uint64_t lines_ = 0;
};

}  // namespace dragoman::training
