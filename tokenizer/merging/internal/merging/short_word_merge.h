#pragma once

#include "merging/merge_table.h"

#include <cstddef>

namespace dragoman::tokenizer {

/// The most symbols of a word that merge_short() takes.
inline constexpr std::size_t kShortWord = 32;

/// merge_exact() for a word of 2 to kShortWord symbols; returns how many are left, which stand at the beginning.
std::size_t merge_short(const MergeTable& table, Symbol* word, std::size_t size);

}  // namespace dragoman::tokenizer
