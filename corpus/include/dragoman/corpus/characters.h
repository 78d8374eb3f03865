#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dragoman::corpus {

/// Counts of the characters of a text, for filters and statistics, computed in one pass.
struct TextProfile {
  std::uint32_t characters = 0;
  /// Runs of characters without whitespace between them. In scripts that are written without spaces (Han, kana, Thai,
  /// Lao, Khmer, Burmese, Tibetan), each character counts as a word.
  std::uint32_t words = 0;
  /// The number of characters of the longest word.
  std::uint32_t longest_word = 0;
  std::uint32_t letters = 0;  ///< with combining marks (Unicode L and M)
  std::uint32_t digits = 0;   ///< Unicode N
  std::uint32_t spaces = 0;
  /// Control characters except tab, private use, unassigned, surrogates, and U+FFFD, which replaces damaged characters.
  std::uint32_t controls = 0;
  /// Letters by script. Letters without a script (U+30FC) and with an inherited one are not counted.
  std::array<std::uint32_t, 256> scripts{};
};

/// A script as a number, the UScriptCode of ICU. Han, Hiragana, Katakana and Bopomofo are one script, because Japanese
/// and Chinese texts mix them. Scripts above 255 count as 0, which means "none".
using Script = std::uint8_t;

/// Returns the counts of a text in UTF-8. An ill-formed sequence counts as a control character.
///
///     const TextProfile profile = profile_of("Guten Morgen, 2 Kaffee!");
///     std::cout << profile.words << ' ' << profile.digits;     // 4 1
///
/// The functions of this header are thread-safe.
TextProfile profile_of(std::string_view text);

/// Returns the script with the most letters, or 0 if there are no letters. A tie goes to the smallest script number.
Script main_script(const std::array<std::uint64_t, 256>& letters);
/// Returns the name of a script, such as "Latin", "Han and kana" or "none".
std::string name_of_script(Script script);
/// Returns the script with this name or ISO 15924 code, such as Latin or Latn, or 0 if there is none.
Script find_script(const std::string& name);

}  // namespace dragoman::corpus
