#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dragoman::corpus {

/// What a text consists of, for filters and statistics: one pass over its characters.
struct TextProfile {
  std::uint32_t characters = 0;
  /// Runs of characters without white space between them; a character of a script that is written without spaces (Han,
  /// kana, Thai, Lao, Khmer, Burmese, Tibetan) counts as a word of its own.
  std::uint32_t words = 0;
  /// Characters of the longest word.
  std::uint32_t longest_word = 0;
  std::uint32_t letters = 0;  ///< with the marks that stand on them (Unicode L and M)
  std::uint32_t digits = 0;   ///< Unicode N
  std::uint32_t spaces = 0;
  /// Control characters but tab, private use, unassigned, surrogates, and U+FFFD, which stands for what was damaged.
  std::uint32_t controls = 0;
  /// Letters by Script; those of no script (U+30FC) and inherited ones are not counted.
  std::array<std::uint32_t, 256> scripts{};
};

/// Scripts as numbers: those of ICU (UScriptCode), but that Han, Hiragana, Katakana and Bopomofo are one, as a text in
/// Japanese or Chinese has them side by side. Scripts above 255 count as 0, which is none.
using Script = std::uint8_t;

/// Of well-formed UTF-8; what is not counts as a control character.
TextProfile profile_of(std::string_view text);

/// The script that most letters have; 0 if there are none, the smallest number of those that have as many.
Script main_script(const std::array<std::uint64_t, 256>& letters);
/// "Latin"; "Han and kana"; "none".
std::string name_of_script(Script script);
/// By its name or ISO 15924 code, such as Latin or Latn. 0 if there is none of that name.
Script find_script(const std::string& name);

}  // namespace dragoman::corpus
