#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dragoman::fuzz {

/// A way in which files of one format become large that changes of any text do not find: sizes and offsets are right,
/// names are different, and references are of the kind that the format has.
struct FormatGrowth {
  std::string_view target;
  std::string_view name;
  std::string_view seed;  ///< a file of the target's corpus, or nothing
  std::string (*make)(std::string_view seed, std::size_t size);
  std::string_view refusal = {};  ///< is in the message if the reader refuses what has grown; nothing if it accepts it
};

std::span<const FormatGrowth> format_growths();

}  // namespace dragoman::fuzz
