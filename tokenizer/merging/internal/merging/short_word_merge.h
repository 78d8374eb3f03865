#pragma once

#include "merging/merge_table.h"

#include <cstddef>

namespace dragoman::tokenizer {

/// The maximum number of symbols of a word for merge_short().
inline constexpr std::size_t kShortWord = 32;

/// merge_exact() for a word of 2 to kShortWord symbols. Returns the number of remaining symbols, which are at the
/// beginning.
std::size_t merge_short(const MergeTable& table, Symbol* word, std::size_t size);

}  // namespace dragoman::tokenizer
