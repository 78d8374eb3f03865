#pragma once

#include <cstddef>
#include <cstdint>

namespace dragoman::tokenizer {

/// Converts a piece's id, which is signed, to the index of a container.
constexpr std::size_t index(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

}  // namespace dragoman::tokenizer
