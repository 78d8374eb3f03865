#pragma once

#include <cstddef>

namespace dragoman::tokenizer {

/// NFKC makes text at most eleven times as long. Without a limit, steps or maps of a hostile file could exhaust the
/// memory.
inline constexpr std::size_t kMaxGrowth = 32;

/// Returns the maximum size of the normalised form of a text of `bytes` bytes.
constexpr std::size_t most_normalised(std::size_t bytes) {
  return bytes * kMaxGrowth + 4096;
}

}  // namespace dragoman::tokenizer
