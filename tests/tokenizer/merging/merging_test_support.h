#pragma once

#include "merging/merge_table.h"

#include <map>
#include <utility>
#include <vector>

namespace dragoman::testing {

inline std::vector<std::int32_t> ids_of(const std::vector<tokenizer::Symbol>& word) {
  std::vector<std::int32_t> ids;
  for (const tokenizer::Symbol& symbol : word) ids.push_back(symbol.id);
  return ids;
}

/// The definition: the merge of lowest rank, leftmost first, until none is left.
inline void merge_naively(const std::vector<tokenizer::Merge>& merges, std::vector<tokenizer::Symbol>& word) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> ranks;
  for (std::size_t rank = 0; rank < merges.size(); ++rank)
    ranks.try_emplace({merges[rank].left, merges[rank].right}, rank);
  for (;;) {
    std::size_t best = merges.size();
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < word.size(); ++i)
      if (const auto found = ranks.find({word[i].id, word[i + 1].id}); found != ranks.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    if (best == merges.size()) return;
    word[at] = {merges[best].result, word[at].length + word[at + 1].length};
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace dragoman::testing
