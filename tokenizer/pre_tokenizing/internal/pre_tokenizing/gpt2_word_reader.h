#pragma once

#include "pre_tokenizing/word_class.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dragoman::tokenizer {

/// Splits text like pattern_word_end(WordPattern::kGpt2, ...), but 64 bytes at a time: the classes of their characters
/// become masks, and the masks give the bytes at which words start. With characters before and after it, a character
/// decides alone whether a word starts there:
///
/// - A letter, number or other character starts a word unless the previous character is of its class or a space.
/// - Whitespace starts a word after anything else, and as the last one of its run if the text goes on.
/// - The letters of a contraction belong to its apostrophe if that starts a word, and a word starts after them.
class Gpt2WordReader {
 public:
  /// The first `readable` bytes from the beginning of the text may be read, even if they belong to other texts.
  Gpt2WordReader(std::string_view text, std::size_t readable) noexcept;

  bool more() const noexcept { return begin_ < text_.size(); }
  /// Returns the next word, which is not empty.
  std::string_view next() noexcept {
    while (starts_ == 0 && block_ + kBlock < text_.size()) read_block(block_ + kBlock);
    const std::size_t begin = begin_;
    begin_ = starts_ == 0 ? text_.size() : block_ + static_cast<std::size_t>(std::countr_zero(starts_));
    starts_ &= starts_ - 1;
    return {text_.data() + begin, begin_ - begin};
  }

 private:
  using Mask = std::uint64_t;  ///< a bit for each byte of a block
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kClasses = 4;
  struct Masks {
    Mask of[kClasses] = {};  ///< by WordClass; kOther is not set
    Mask blanks = 0;         ///< U+0020
    Mask apostrophes = 0;
    Mask multibyte = 0;  ///< bytes of other characters than ASCII
  };

  void read_block(std::size_t begin) noexcept;
  static Masks masks_of_ascii(const char* block) noexcept;
  Mask classify_multibyte(Masks& masks) noexcept;
  void apply_contractions(Mask apostrophes) noexcept;
  bool space_follows(std::size_t end) const noexcept {
    return end < text_.size() && classes_->at(text_, end).kind == WordClass::kSpace;
  }

  std::string_view text_;
  std::size_t readable_;
  const WordClasses* classes_;
  std::size_t begin_ = 0;  // of the next word
  std::size_t block_ = 0;
  Mask starts_ = 0;  // of words in the block, after the next one
  // From the previous block: its last byte, in the lowest bits, and what its last character means for this one.
  Mask before_[kClasses] = {};
  Mask blank_before_ = 0;
  std::size_t multibyte_rest_ = 0;  // the number of bytes of its last character
  WordClass multibyte_class_ = WordClass::kOther;
  Mask joined_ = 0;  // bytes that start no word, because they belong to a contraction
  Mask parted_ = 0;  // the byte after a contraction
};

}  // namespace dragoman::tokenizer
