#pragma once

#include "reading/chunk.h"
#include "reading/utf8_policy.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/log.h>

namespace dragoman::tokenizer {

/// A pool of used chunks: new memory for each chunk would cost more than reading it. Thread-safe.
class ChunkPool {
 public:
  std::shared_ptr<Chunk> take();
  void give_back(std::shared_ptr<Chunk> chunk);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Chunk>> free_;
};

/// Reads files one after the other in chunks of about a megabyte that end at the end of a word (or line). A longer word
/// makes a longer chunk. The end of a file ends its last word. A byte order mark at the start of a file is skipped. One
/// thread at a time.
class ChunkReader {
 public:
  enum class Unit { kWord, kLine };

  /// Throws Error{kBadInput} for a word (or line) that would need a chunk of more than `limit` bytes and, depending on
  /// `invalid_utf8`, for invalid UTF-8. `log` receives one message about byte order marks.
  ChunkReader(std::vector<std::filesystem::path> inputs, Unit unit, std::stop_token stop,
              std::size_t limit = std::numeric_limits<std::size_t>::max(),
              InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep, core::LogSink log = {})
      : inputs_(std::move(inputs)),
        unit_(unit),
        limit_(limit),
        stop_(std::move(stop)),
        utf8_(invalid_utf8),
        log_(std::move(log)) {
    if (!inputs_.empty()) name_ = inputs_.front() == "-" ? "standard input" : inputs_.front().string();
  }

  /// Fills the chunk. It stays empty at the end.
  void next(Chunk& chunk);
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  /// Returns the number of lines returned so far, for Unit::kLine.
  std::uint64_t lines_read() const noexcept { return lines_read_; }
  /// Returns the name of the current, last or, before next(), first file, for messages.
  const std::string& name() const noexcept { return name_; }

 private:
  bool fill(Chunk& chunk);
  void drop_byte_order_mark(Chunk& chunk, std::size_t begin);
  bool open_next();
  std::size_t last_boundary(std::string_view text, std::size_t from) const;

  std::vector<std::filesystem::path> inputs_;
  Unit unit_;
  std::size_t limit_;
  std::stop_token stop_;
  Utf8Policy utf8_;
  core::LogSink log_;  // empty after the message
  std::size_t next_input_ = 0;
  std::optional<core::InputFile> file_;
  bool at_file_start_ = false;
  std::string name_;
  std::string rest_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t lines_read_ = 0;
};

}  // namespace dragoman::tokenizer
