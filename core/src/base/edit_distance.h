#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman::core {

/// How many characters must be inserted, removed or replaced to make one text of the other. Takes the product of the
/// lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The largest edit_distance() between a word and what may have been meant by it.
std::size_t furthest_distance(std::string_view word) noexcept;

}  // namespace dragoman::core
