#pragma once

#include "dragoman/tokenizer/invalid_utf8.h"
#include "reading/chunk.h"

#include <cstdint>
#include <string>

namespace dragoman::tokenizer {

/// Looks at the chunks of files, in order, for what is not UTF-8. Chunks end where words or lines do, so no character
/// reaches over their ends.
class Utf8Policy {
 public:
  explicit Utf8Policy(InvalidUtf8 what) : what_(what) {}

  /// The chunks that follow are of another file.
  void begin_file() noexcept { lines_ = bytes_ = 0; }
  /// So many bytes of the file come before the next chunk and are in none.
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
