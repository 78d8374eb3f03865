#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace dragoman::fuzz {

/// Between one and three changes of the kinds that fuzzers make: bytes, cuts, copies and digits.
std::string change(std::string bytes, std::mt19937& random);

/// Whether copies get numbers behind their first words.
enum class Numbering : std::uint8_t { kDrawn, kNone, kEach };

/// The input with some part of it repeated until it has about `size` bytes. Parts often begin and end behind the same
/// punctuation, and copies are often numbered, so that a list gets many elements and an object many different keys.
std::string repeat_part(std::string_view bytes, std::size_t size, std::mt19937& random,
                        Numbering numbering = Numbering::kDrawn);

}  // namespace dragoman::fuzz
