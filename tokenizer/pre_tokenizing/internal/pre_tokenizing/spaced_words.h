#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The effect of a definition on a word that was extracted from a text at spaces.
enum class SpacedWordEffect {
  kNone,  ///< none
  kMark,  ///< a word mark is prepended, which need not be stored; words that are not plain are changed too
  kAny,   ///< it is normalised, or user symbols, digits and so on are split off
};

SpacedWordEffect effect_on_spaced_words(const BpeDefinition& definition);

/// Returns whether a step of the normaliser has the same effect on a text and on its words one by one: it changes
/// characters, and never because of a character beyond a space.
bool stays_within_words(const NormalizerStep& step);

/// The words for which a definition in Dragoman's learned layout only prepends a mark.
class PlainWords {
 public:
  explicit PlainWords(const BpeDefinition& definition);
  /// Returns whether the definition only replaces texts inside words and prepends marks. Other steps may change any
  /// word.
  bool exist() const noexcept { return exist_; }
  bool contain(std::string_view word) const noexcept;

 private:
  bool exist_ = false;
  /// Texts that no plain word contains: replaced texts, and the mark, at which words end.
  std::vector<std::string> others_;
};

}  // namespace dragoman::tokenizer
