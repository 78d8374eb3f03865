#pragma once

#include "pre_tokenizing/named_patterns.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Cuts normalised text into words, which inner cuts then cut further. Any thread may call.
class WordCutter {
 public:
  explicit WordCutter(const TextDefinition& text);

  /// The end of the word that begins at `begin` < text.size(); `begin` itself where something stands that parts words.
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

  /// Where to look for the word behind one that ends at `end`: behind what stands between words and vanishes.
  std::size_t next(std::string_view text, std::size_t end) const {
    if (rule_.kind == Kind::kBetween) return end + rule_.mark.size();
    if (rule_.kind == Kind::kWhiteSpace && end < text.size()) return end + core::decode_utf8(text, end).length;
    return end;
  }

  /// Whether both cut all texts alike.
  bool operator==(const WordCutter&) const = default;

 private:
  enum class Kind { kWholeText, kBefore, kBetween, kWhiteSpace, kPattern };
  struct Rule {
    Kind kind = Kind::kWholeText;
    std::string mark = {};                     ///< of kBefore and kBetween
    WordPattern pattern = WordPattern::kGpt2;  ///< of kPattern
    bool operator==(const Rule&) const = default;
  };
  struct RuleOf;

  Rule rule_;
};

}  // namespace dragoman::tokenizer
