#pragma once

#include "pre_tokenizing/named_patterns.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Splits normalised text into words; inner cuts then split these further. Thread-safe.
class WordCutter {
 public:
  explicit WordCutter(const TextDefinition& text);

  /// Returns the end of the word that begins at `begin` < text.size(), or `begin` itself at a separator.
  std::size_t end(std::string_view text, std::size_t begin) const {
    switch (rule_.kind) {
      case Kind::kWholeText:
        break;
      case Kind::kBefore: {
        const std::size_t own_mark = text.substr(begin).starts_with(rule_.mark) ? rule_.mark.size() : 0;
        return std::min(text.find(rule_.mark, begin + own_mark), text.size());
      }
      case Kind::kBetween:
        return std::min(text.find(rule_.mark, begin), text.size());
      case Kind::kWhiteSpace:
        return white_space_begin(text, begin);
      case Kind::kPattern:
        return pattern_word_end(rule_.pattern, text, begin);
    }
    return text.size();
  }

  /// Returns the position to search for the next word after one that ends at `end`: after the separator, which is
  /// removed.
  std::size_t next(std::string_view text, std::size_t end) const {
    if (rule_.kind == Kind::kBetween) return end + rule_.mark.size();
    if (rule_.kind == Kind::kWhiteSpace && end < text.size()) return end + core::decode_utf8(text, end).length;
    return end;
  }

  /// Returns whether both split all texts in the same way.
  bool operator==(const WordCutter&) const = default;

 private:
  enum class Kind { kWholeText, kBefore, kBetween, kWhiteSpace, kPattern };
  struct Rule {
    Kind kind = Kind::kWholeText;
    std::string mark = {};                     ///< for kBefore and kBetween
    WordPattern pattern = WordPattern::kGpt2;  ///< for kPattern
    bool operator==(const Rule&) const = default;
  };
  struct RuleOf;

  Rule rule_;
};

}  // namespace dragoman::tokenizer
