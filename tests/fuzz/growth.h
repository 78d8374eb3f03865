#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace dragoman::fuzz {

/// A way in which somebody makes an input large.
enum class Growth : std::uint8_t {
  kRepeat,     ///< an element again and again
  kManyNames,  ///< an element again and again, each with a number in its name
  kNest,       ///< a level in itself
  kLongWord,   ///< a name or a value of any length
  kAlias,      ///< half of it is a value, the other half refers to it (YAML)
};

struct GrowthRule {
  Growth growth;
  std::string_view name;
  int picks;  ///< how many different elements, levels or words of a seed are tried
};
inline constexpr GrowthRule kGrowthRules[] = {{Growth::kRepeat, "an element repeated", 5},
                                              {Growth::kManyNames, "many names", 5},
                                              {Growth::kNest, "a level nested", 3},
                                              {Growth::kLongWord, "a long word", 3},
                                              {Growth::kAlias, "aliases of a value", 1}};

/// The seed, grown to about `size` bytes. The pick says which of its elements, levels or words grows: the same for any
/// size.
std::string grow(std::string_view seed, Growth growth, unsigned pick, std::size_t size);

/// The first of several files in a seed, and the others with the mark in front of them.
struct SplitSeed {
  std::string_view first;
  std::string_view rest;
};
SplitSeed split_files(std::string_view seed);

/// Parts for growing numbers, as many as fit into the size.
std::string parts(std::size_t size, const std::function<std::string(std::size_t number)>& part);

}  // namespace dragoman::fuzz
