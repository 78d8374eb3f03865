#pragma once

#include <cstddef>

namespace dragoman::tokenizer {

/// NFKC makes text at most eleven times as long; steps or maps out of a hostile file could fill any memory.
inline constexpr std::size_t kMaxGrowth = 32;

/// What a text of so many bytes may become.
constexpr std::size_t most_normalised(std::size_t bytes) {
  return bytes * kMaxGrowth + 4096;
}

}  // namespace dragoman::tokenizer
