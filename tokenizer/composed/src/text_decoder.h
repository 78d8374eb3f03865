#pragma once

#include "definition/composed_definition.h"
#include "regex/matcher.h"

#include <optional>
#include <string>
#include <vector>

namespace dragoman::tokenizer {

/// Converts the texts of pieces to one text, step by step. Immutable and thread-safe.
class TextDecoder {
 public:
  /// Throws Error{kBadInput} for an invalid pattern.
  TextDecoder(const std::vector<DecoderStep>& steps, bool joins_with_spaces);
  /// Throws Error{kBadInput} if replacements make the text many times longer, and like Matcher::for_each(). All
  /// searches share one budget.
  std::string decode(std::vector<std::string> texts) const;

 private:
  struct Step {
    DecoderStep definition;
    std::optional<Matcher> matcher;
  };
  std::vector<Step> steps_;
  bool joins_with_spaces_;
};

}  // namespace dragoman::tokenizer
