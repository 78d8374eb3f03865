#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dragoman::markup {

/// A word, or a character of punctuation, of a text.
struct Word {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  /// 0 for a word of letters or digits. Otherwise the punctuation's first character; all quotation marks are `"`.
  char32_t punctuation = 0;
};

/// Returns the words of a text by ICU's rules (Unicode Standard Annex 29, with dictionaries for languages without
/// spaces). Whitespace belongs to no word. `first` is added to the positions.
void append_words(std::string_view text, std::uint32_t first, std::vector<Word>& words);

}  // namespace dragoman::markup
