#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Flat lists of numbers that grow by copies of themselves, as those of the ancestors of hypotheses: list r, entries
/// [offsets[r], offsets[r + 1]) of `lists`, becomes list parents[r] of `before` (none if that is -1), then the entries
/// [added_offsets[r], added_offsets[r + 1]) of `added`. The caller guarantees that they have that length. All [1, n]
/// and I32. `kept` gets the same entries as `lists`.
struct ExtendListsArguments {
  Tensor before;
  DeviceIndices before_offsets;
  DeviceIndices parents;
  DeviceIndices added;
  DeviceIndices added_offsets;
  DeviceIndices offsets;
  Tensor lists;
  Tensor kept;
};
inline constexpr KernelKey<void(Context&, const ExtendListsArguments&)> kExtendLists{"extend_lists"};

}  // namespace dragoman::ops
