#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace dragoman::pipeline {

/// The result for a line of more tokens than the model takes.
enum class LongLines : std::uint8_t {
  kFail,  ///< Error{kBadInput} that names the line
  kCut,   ///< the first tokens, up to the model's limit
  kSkip,  ///< the line has an error in place of a result
};
inline constexpr std::array<std::pair<std::string_view, LongLines>, 3> kLongLines = {
    {{"fail", LongLines::kFail}, {"cut", LongLines::kCut}, {"skip", LongLines::kSkip}}};

/// What happened to the lines of a job beyond being translated. Counts are of input lines where nothing else is said.
struct LineCounts {
  std::uint64_t lines = 0;
  std::uint64_t with_invalid_utf8 = 0;
  std::uint64_t replaced_bytes = 0;    ///< places, of any number in a line
  std::uint64_t byte_order_marks = 0;  ///< at the starts of files, left out
  std::uint64_t split_for_length = 0;
  std::uint64_t with_unknown_pieces = 0;  ///< of lines of pieces
  std::uint64_t translations_cut = 0;     ///< at the length limit; a line that was split has several translations
  std::uint64_t translations_lacking_terms = 0;  ///< that were demanded of them
  std::uint64_t failed = 0;
};

/// "3 lines held invalid UTF-8 (replaced), 1 line was split for its length", or "" if there is nothing to say.
std::string describe(const LineCounts& counts);

/// Makes a raw line fit to translate: drops one CR at its end, replaces invalid UTF-8 by U+FFFD. Returns the number of
/// replacements.
std::size_t clean_line(std::string& line);

}  // namespace dragoman::pipeline
