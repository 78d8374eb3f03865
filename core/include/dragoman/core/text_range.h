#pragma once

#include <cstddef>

namespace dragoman::core {

/// The bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

}  // namespace dragoman::core
