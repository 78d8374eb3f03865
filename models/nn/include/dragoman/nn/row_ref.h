#pragma once

#include <cstdint>

namespace dragoman::nn {

/// One row of a step: the next tokens of one hypothesis of the sentence in `slot`. `parent` is the row of the last step
/// that it continues, or -1 if its history is empty. For a row that the device chooses (ops::choose_next), it is any
/// row of the sentence; all of them then have histories of the same length.
struct RowRef {
  std::int32_t slot = 0;
  std::int32_t parent = -1;
};

}  // namespace dragoman::nn
