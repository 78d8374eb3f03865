#include "kernels.h"

#include <algorithm>

#include <dragoman/ops/extend_lists.h>

namespace dragoman::backend::cpu {

template <>
void kernel(Context&, const ops::ExtendListsArguments& arguments) {
  const auto* const before = arguments.before.as<std::int32_t>();
  const std::span added = arguments.added.span();
  for (std::int64_t r = 0; r < arguments.parents.size(); ++r) {
    const std::int32_t parent = arguments.parents[r];
    for (const Tensor& lists : {arguments.lists, arguments.kept}) {
      std::int32_t* to = lists.as<std::int32_t>() + arguments.offsets[r];
      if (parent >= 0)
        to = std::copy(before + arguments.before_offsets[parent], before + arguments.before_offsets[parent + 1], to);
      std::copy(added.begin() + arguments.added_offsets[r], added.begin() + arguments.added_offsets[r + 1], to);
    }
  }
}

}  // namespace dragoman::backend::cpu
