#pragma once

#include "tokens/vocabulary.h"
#include "weights/weight_plan.h"

#include <initializer_list>
#include <utility>

namespace dragoman::imports {

/// Pairs of ids that change places, in this order.
using IdSwaps = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// The pieces that were given other ids on each side of a model.
struct AlignedIds {
  IdSwaps source;
  IdSwaps target;
  bool empty() const { return source.empty() && target.empty(); }
};

/// Gives each of `pieces` that both vocabularies have the same id on both sides. A piece changes places with the one
/// that has the id of the other side: in the source's vocabulary, or in the target's if the source's is too small. Ids
/// are rows of tables, so swap_rows() must do the same to these.
AlignedIds align_ids(Vocabulary& source, Vocabulary& target, std::initializer_list<std::string_view> pieces);

/// Swaps the rows of a table of the plan, or the values of a vector; nothing if the plan has no such parameter.
void swap_rows(WeightPlan& plan, std::string_view parameter, const IdSwaps& swaps);

/// Swaps the rows of all parameters of a Transformer that belong to pieces, if it has a table for each side.
void swap_rows(WeightPlan& plan, const AlignedIds& ids);

}  // namespace dragoman::imports
