#pragma once

#include <cstdint>

namespace dragoman::nn {

/// One row of a step: the next tokens of one hypothesis of the sentence in `slot`. `parent` is the row of the last step
/// that it continues, or -1 for an empty history. If the device chooses the row (ops::choose_next), `parent` is any row
/// of the sentence. Then all rows of the sentence must have histories of the same length.
struct RowRef {
  std::int32_t slot = 0;
  std::int32_t parent = -1;
};

}  // namespace dragoman::nn
