#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

inline constexpr char32_t kWordMarkCharacter = 0x2581;

/// What a definition does to a word that was cut out of a text at spaces.
enum class WordSplitting {
  kNone,     ///< nothing
  kAtMarks,  ///< a word mark is put in front, which need not be stored; words that are not plain are changed, too
  kFull,     ///< it is normalised, or user symbols, digits and so on are cut out
};

WordSplitting word_splitting(const BpeDefinition& definition);

/// Whether words that stand between spaces are cut further: at digits, at changes of case, at punctuation or around
/// protected patterns.
bool cuts_inside_words(const BpeDefinition& definition);

/// Whether a step of the normaliser does the same to a text and to its words one by one: it changes characters, and
/// none because of one beyond a space.
bool stays_within_words(const NormalizerStep& step);

/// The words to which a definition with the layout that we learn does nothing but put a mark in front.
class PlainWords {
 public:
  explicit PlainWords(const BpeDefinition& definition);
  /// Whether the definition only replaces texts inside words and puts marks in front: other steps may change any word.
  bool exist() const noexcept { return exist_; }
  bool contain(std::string_view word) const noexcept;

 private:
  bool exist_ = false;
  std::vector<std::string> others_;  ///< what no plain word holds: what is replaced, and the mark, at which words end
};

/// visit(code point, whether it is one) of each character of a word; with `marked`, of a word mark first.
template <class Visit>
void for_each_character(std::string_view word, bool marked, Visit&& visit) {
  if (marked) visit(kWordMarkCharacter, true);
  for (std::size_t i = 0; i < word.size();) {
    const auto byte = static_cast<unsigned char>(word[i]);
    if (byte < 0x80) {
      visit(byte, true);
      ++i;
      continue;
    }
    const core::DecodedCharacter c = core::decode_utf8(word, i);
    visit(c.code_point, c.valid);
    i += c.length;
  }
}

}  // namespace dragoman::tokenizer
