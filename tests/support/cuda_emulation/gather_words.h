#pragma once

#include "launches.h"

#include <cstdint>

namespace dragoman::testing {

/// Rows of words out of 16-bit values that lie either way.
struct GatherWords {
  const std::uint16_t* from;
  std::int64_t stride;
  bool by_rows;  ///< whether a row of `from` has values of all rows of `to`
  std::int64_t inner;
  backend::cuda::device::WordMatrix to;
};
void gather_words(const GatherWords& arguments);

}  // namespace dragoman::testing
