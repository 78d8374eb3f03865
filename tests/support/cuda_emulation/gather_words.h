#pragma once

#include "launches.h"

#include <cstdint>

namespace dragoman::testing {

/// Gathers rows of 32-bit words from 16-bit values that are stored by rows or by columns.
struct GatherWords {
  const std::uint16_t* from;
  std::int64_t stride;
  bool by_rows;  ///< whether a row of `from` has values of all rows of `to`
  std::int64_t inner;
  backend::cuda::device::WordMatrix to;
};
void gather_words(const GatherWords& arguments);

}  // namespace dragoman::testing
