#pragma once

#include "base/word_key.h"
#include "pre_tokenizing/named_patterns.h"

#include <cstddef>
#include <string_view>

namespace dragoman::tokenizer {

/// Splits text at the matches of any pattern, with the interface of Gpt2WordReader.
class PatternWordReader {
 public:
  PatternWordReader(WordPattern pattern, std::string_view text) noexcept : pattern_(pattern), text_(text) {}

  bool more() const noexcept { return begin_ < text_.size(); }
  std::string_view next() {
    const std::size_t begin = begin_;
    begin_ = pattern_word_end(pattern_, text_, begin);
    return text_.substr(begin, begin_ - begin);
  }

 private:
  WordPattern pattern_;
  std::string_view text_;
  std::size_t begin_ = 0;
};

/// Adds keys to the words of a reader.
template <class Reader>
class PatternWordScanner {
 public:
  /// The first `readable` bytes from the beginning of the text may be read, even if they belong to other texts.
  PatternWordScanner(const Reader& reader, std::string_view text, std::size_t readable) noexcept
      : reader_(reader), readable_(text.data() + readable) {}

  bool more() const noexcept { return reader_.more(); }
  /// Returns the next word. Sets `key` to its key if it has at most WordKey::kInlineBytes bytes.
  std::string_view next(WordKey& key) {
    constexpr std::ptrdiff_t kReadBytes = 16;
    const std::string_view word = reader_.next();
    if (word.size() <= WordKey::kInlineBytes)
      key = readable_ - word.data() >= kReadBytes ? WordKey::padded(word) : WordKey::of(word);
    return word;
  }

 private:
  Reader reader_;
  const char* readable_;
};

}  // namespace dragoman::tokenizer
