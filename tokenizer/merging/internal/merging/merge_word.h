#pragma once

#include "merging/merge_table.h"

#include <cstdint>
#include <vector>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// Buffers that words share, so that encoding a line does not allocate memory for each word.
struct MergeBuffers {
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> previous;
  std::vector<std::uint32_t> next;
  std::vector<std::uint64_t> heap;
  std::vector<std::uint64_t> dropped;
  std::vector<std::uint64_t> round;
  std::vector<Symbol> part;
};

/// Applies the merge of lowest rank, leftmost first, until none is left. O(n log n) in the number of symbols.
void merge_exact(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers);

/// Merges like subword-nmt: applies all occurrences of the best merge, from left to right without overlap, before it
/// selects the next merge.
void merge_in_rounds(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers);

/// Returns whether merge_in_rounds() may differ from merge_exact(): a merge has a lower rank than one that produces its
/// left or right side.
bool rounds_matter(const std::vector<Merge>& merges, std::size_t pieces);

/// Algorithm 1 of Provilkov et al. 2020: before each merge, every possible one is skipped if `drop()` returns true.
/// Ends when none remains.
void merge_with_dropout(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers,
                        core::FunctionRef<bool()> drop);

}  // namespace dragoman::tokenizer
