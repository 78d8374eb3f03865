#pragma once

#include "dragoman/tokenizer/learn_unigram.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>

namespace dragoman::tokenizer {

/// Decides which texts may become pieces, by the rules of spm_train.
class PieceRules {
 public:
  /// `alphabet` has the character of symbol i at i - 1. `reserved` are texts that no learned piece may have. Both must
  /// outlive the object.
  PieceRules(const LearnUnigramOptions& options, std::span<const char32_t> alphabet,
             const std::vector<std::string>& reserved);

  bool is_valid(std::span<const std::uint32_t> symbols) const;
  std::string text_of(std::span<const std::uint32_t> symbols) const;

 private:
  enum class Kind : std::uint8_t { kScript, kAny, kMark, kDigit };
  struct Character {
    Kind kind;
    std::int32_t script;
  };
  Character classify(char32_t character) const;
  bool is_whitespace(std::span<const std::uint32_t> symbols) const;
  bool is_reserved(std::span<const std::uint32_t> symbols) const;

  const LearnUnigramOptions& options_;
  std::span<const char32_t> alphabet_;
  std::vector<Character> characters_;  // by symbol
  core::TextViewSet reserved_;
};

}  // namespace dragoman::tokenizer
