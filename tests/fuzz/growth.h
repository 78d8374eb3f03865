#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace dragoman::fuzz
