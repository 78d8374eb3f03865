#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <dragoman/nn/positions.h>

namespace dragoman::imports {

struct SinusoidKind {
  nn::PositionKind kind = nn::PositionKind::kInterleaved;
  std::int64_t offset = 0;  ///< Config::position_offset
  bool operator==(const SinusoidKind&) const = default;
};

/// Returns the kind of computed positions that a table [rows, width] contains, to within `tolerance`, or nullopt if it
/// is another table.
std::optional<SinusoidKind> recognise_sinusoids(std::span<const float> table, std::int64_t width, double tolerance);

}  // namespace dragoman::imports
