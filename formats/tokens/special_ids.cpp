#include "tokens/special_ids.h"

#include <algorithm>

namespace dragoman::imports {

AlignedIds align_ids(Vocabulary& source, Vocabulary& target, std::initializer_list<std::string_view> pieces) {
  AlignedIds ids;
  for (const std::string_view piece : pieces) {
    const std::optional<std::int32_t> of_source = source.find(piece);
    const std::optional<std::int32_t> of_target = target.find(piece);
    if (!of_source || !of_target || *of_source == *of_target) continue;
    const bool fits = *of_target < source.size();
    (fits ? source : target).swap(*of_source, *of_target);
    (fits ? ids.source : ids.target).emplace_back(*of_source, *of_target);
  }
  return ids;
}

void swap_rows(WeightPlan& plan, std::string_view parameter, const IdSwaps& swaps) {
  const auto planned = std::ranges::find(plan, parameter, &PlannedWeight::parameter);
  if (planned == plan.end()) return;
  planned->swapped.insert(planned->swapped.end(), swaps.begin(), swaps.end());
}

void swap_rows(WeightPlan& plan, const AlignedIds& ids) {
  swap_rows(plan, "source_embedding.weight", ids.source);
  for (const char* parameter : {"target_embedding.weight", "output.weight", "output.bias"})
    swap_rows(plan, parameter, ids.target);
}

}  // namespace dragoman::imports
