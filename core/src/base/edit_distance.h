#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman::core {

/// Returns the Levenshtein distance: the number of characters to insert, remove or replace to turn one text into the
/// other. Takes time proportional to the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the largest edit_distance() at which another word still counts as a typo of `word`.
std::size_t furthest_distance(std::string_view word) noexcept;

}  // namespace dragoman::core
