#include "dragoman/tokenizer/vocabulary_editing.h"
#include "editing/vocabulary_subset.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

VocabularyEdit truncate(const BpeDefinition& definition, std::int32_t size) {
  check_editable(definition);
  std::vector<bool> kept = unmerged_pieces(definition);
  auto count = static_cast<std::int64_t>(std::ranges::count(kept, true));
  core::require(size >= count && static_cast<std::size_t>(size) <= definition.pieces.size(),
                core::ErrorCode::kInvalidArgument,
                "a vocabulary of {} pieces cannot be cut to {}; from {}, which no merge makes, to {} are possible",
                definition.pieces.size(), size, count, definition.pieces.size());
  // Learning stops at the merge that produces the last piece. A later merge that produces a piece again is not learned.
  std::size_t rank = 0;
  for (; count < size; ++rank) {
    const auto result = static_cast<std::size_t>(definition.merges[rank].result);
    if (!kept[result]) ++count;
    kept[result] = true;
  }
  BpeDefinition smaller = definition;
  smaller.merges.resize(rank);
  return subset(std::move(smaller), kept);
}

}  // namespace dragoman::tokenizer
