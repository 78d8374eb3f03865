#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// What a definition does to a word that was cut out of a text at spaces.
enum class SpacedWordEffect {
  kNone,  ///< nothing
  kMark,  ///< a word mark is put in front, which need not be stored; words that are not plain are changed, too
  kAny,   ///< it is normalised, or user symbols, digits and so on are cut out
};

SpacedWordEffect effect_on_spaced_words(const BpeDefinition& definition);

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

}  // namespace dragoman::tokenizer
