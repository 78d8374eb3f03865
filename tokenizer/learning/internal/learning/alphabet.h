#pragma once

#include "reading/character_counts.h"

#include <optional>
#include <vector>

namespace dragoman::tokenizer {

/// Throws Error{kInvalidArgument} unless 0 < coverage <= 1.
void check_coverage(double coverage);

/// Returns the most frequent characters that together cover that share of a text, and `always` if it occurs. The counts
/// and the result are sorted by falling count.
std::vector<char32_t> choose_alphabet(const std::vector<CharacterCount>& counts, double coverage,
                                      std::optional<char32_t> always);

}  // namespace dragoman::tokenizer
