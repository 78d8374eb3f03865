#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace dragoman::pipeline {

/// The result for a line with more tokens than the model supports.
enum class LongLines : std::uint8_t {
  kFail,  ///< Error{kBadInput} that names the line
  kCut,   ///< the first tokens, up to the model's limit
  kSkip,  ///< the line has an error instead of a result
};
inline constexpr std::array<std::pair<std::string_view, LongLines>, 3> kLongLines = {
    {{"fail", LongLines::kFail}, {"cut", LongLines::kCut}, {"skip", LongLines::kSkip}}};

/// Statistics about the lines of a job. Counts are of input lines unless stated otherwise.
struct LineCounts {
  std::uint64_t lines = 0;
  std::uint64_t with_invalid_utf8 = 0;
  std::uint64_t replaced_bytes = 0;    ///< replacements, possibly several per line
  std::uint64_t byte_order_marks = 0;  ///< at the beginning of files; left out
  std::uint64_t split_for_length = 0;
  std::uint64_t with_unknown_pieces = 0;  ///< lines of pieces only
  std::uint64_t translations_cut = 0;     ///< at the length limit; a line that was split has several translations
  std::uint64_t translations_lacking_terms = 0;  ///< translations without a required term
  std::uint64_t failed = 0;
};

/// Returns "3 lines held invalid UTF-8 (replaced), 1 line was split for its length", or "" if there is nothing to
/// report.
std::string describe(const LineCounts& counts);

/// Prepares a raw line for translation: removes one CR at its end and replaces invalid UTF-8 by U+FFFD. Returns the
/// number of replacements. Thread-safe.
///
///     std::string line = "Guten Morgen!\r";
///     const std::size_t replacements = clean_line(line);     // 0; the line is "Guten Morgen!"
std::size_t clean_line(std::string& line);

}  // namespace dragoman::pipeline
