#include "kernels.h"

#include <algorithm>
#include <vector>

#include <dragoman/ops/extend_lists.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::ExtendListsArguments& arguments) {
  const auto* const before = arguments.before.as<std::int32_t>();
  for (std::int64_t r = 0; r < arguments.parents.size(); ++r) {
    std::vector<std::int32_t> list;
    if (const std::int32_t parent = arguments.parents[r]; parent >= 0)
      list.assign(before + arguments.before_offsets[parent], before + arguments.before_offsets[parent + 1]);
    for (std::int32_t i = arguments.added_offsets[r]; i < arguments.added_offsets[r + 1]; ++i)
      list.push_back(arguments.added[i]);
    for (const Tensor& to : {arguments.lists, arguments.kept})
      std::ranges::copy(list, to.as<std::int32_t>() + arguments.offsets[r]);
  }
}

}  // namespace dragoman::backend::reference
