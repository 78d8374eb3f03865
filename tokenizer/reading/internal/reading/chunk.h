#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// Text that ends at the end of a word or line, followed by padding for WordKey::padded().
struct Chunk {
  static constexpr std::size_t kPadding = 16;

  std::string_view text() const { return {bytes.data(), size}; }

  std::vector<char> bytes;
  std::size_t size = 0;
  std::uint64_t first_line = 0;  ///< for whole lines: the number, from 0, of the first one
};

}  // namespace dragoman::tokenizer
