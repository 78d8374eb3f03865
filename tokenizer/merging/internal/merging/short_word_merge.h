#pragma once

#include "merging/merge_table.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace dragoman::tokenizer {

/// The most symbols of a word that merge_short() takes.
inline constexpr std::size_t kShortWord = 32;

/// merge_exact() for a word of 2 to kShortWord symbols; returns how many are left, which stand at the beginning.
std::size_t merge_short(const MergeTable& table, Symbol* word, std::size_t size);

/// A word of few symbols, without their lengths.
struct ShortWord {
  static constexpr std::size_t kMost = 16;
  std::int32_t ids[kMost];
  std::uint32_t size;
};

/// Merges each word as merge_short() does, but several at a time, a merge of each in turn: each merge of a word depends
/// on the one before, so that one word alone leaves the processor waiting most of the time.
void merge_short_words(const MergeTable& table, std::span<ShortWord* const> words);

}  // namespace dragoman::tokenizer
