#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include <dragoman/core/log.h>
#include <dragoman/server/dialects.h>

namespace dragoman::server {

/// A file that suggestions are appended to, a JSON object per line. It is opened for each suggestion, so it may be
/// moved away at any time. Links are never followed. Thread-safe; one process at a time.
class SuggestionFile {
 public:
  /// The largest size of the file. A suggestion beyond it is not stored.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  /// Creates the file unless it exists, readable by its owner. Throws Error{kIo} if it cannot be written, or if it is a
  /// link or no regular file.
  explicit SuggestionFile(std::string path, core::LogSink log = {});

  /// Appends a suggestion with the time. Returns false if there is no room, or if the file cannot be written. The first
  /// of several failures in a row is logged. Suggestions are written as a whole or not at all.
  bool append(const DialectOptions::Suggestion& suggestion);

 private:
  const std::string path_;
  const core::LogSink log_;
  std::mutex mutex_;
  bool failing_ = false;
};

}  // namespace dragoman::server
