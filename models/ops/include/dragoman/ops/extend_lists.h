#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Extends flat lists of integers, such as the ancestors of hypotheses. All tensors are [1, n] and I32.
///
/// List r is entries [offsets[r], offsets[r + 1]) of `lists`. It becomes list parents[r] of `before` (empty if
/// parents[r] is -1), followed by the entries [added_offsets[r], added_offsets[r + 1]) of `added`. The caller
/// guarantees that the lengths match. `kept` receives the same entries as `lists`.
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
