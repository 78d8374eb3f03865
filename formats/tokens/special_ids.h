#pragma once

#include "tokens/vocabulary.h"
#include "weights/weight_plan.h"

#include <initializer_list>
#include <utility>

namespace dragoman::imports {

/// Pairs of ids that are exchanged, in this order.
using IdSwaps = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// The pieces whose ids were changed on each side of a model.
struct AlignedIds {
  IdSwaps source;
  IdSwaps target;
  bool empty() const { return source.empty() && target.empty(); }
};

/// Gives each of `pieces` that both vocabularies contain the same id on both sides. A piece exchanges its id with the
/// piece that has the other side's id: in the source's vocabulary, or in the target's if the source's is too small. Ids
/// are rows of tables, so swap_rows() must be applied to these as well.
AlignedIds align_ids(Vocabulary& source, Vocabulary& target, std::initializer_list<std::string_view> pieces);

/// Exchanges the rows of a table of the plan, or the values of a vector. Does nothing if the plan lacks the parameter.
void swap_rows(WeightPlan& plan, std::string_view parameter, const IdSwaps& swaps);

/// Exchanges the rows of all parameters of a Transformer that are indexed by pieces, if it has a table for each side.
void swap_rows(WeightPlan& plan, const AlignedIds& ids);

}  // namespace dragoman::imports
