#pragma once

#include "dragoman/tokenizer/invalid_utf8.h"
#include "reading/chunk.h"

#include <cstdint>
#include <string>

namespace dragoman::tokenizer {

/// Applies the policy for invalid UTF-8 to the chunks of files, in order. Chunks end at the end of words or lines, so
/// no character spans two chunks.
class Utf8Policy {
 public:
  explicit Utf8Policy(InvalidUtf8 what) : what_(what) {}

  /// Starts another file, to which the next chunks belong.
  void begin_file() noexcept { lines_ = bytes_ = 0; }
  /// Skips `bytes` bytes of the file that come before the next chunk and are in no chunk.
  void skip(std::uint64_t bytes) noexcept { bytes_ += bytes; }
  /// Changes the chunk, or throws Error{kBadInput} that names `file`.
  void apply(Chunk& chunk, const std::string& file);

 private:
  [[noreturn]] void fail_at(std::size_t place, const Chunk& chunk, const std::string& file) const;

  InvalidUtf8 what_;
  std::uint64_t lines_ = 0;  // of the file, before the chunk
  std::uint64_t bytes_ = 0;
};

}  // namespace dragoman::tokenizer
