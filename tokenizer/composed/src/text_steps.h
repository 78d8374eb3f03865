#pragma once

#include "definition/composed_definition.h"
#include "normalizing/normalizer.h"
#include "regex/matcher.h"

#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

namespace dragoman::tokenizer {

/// Normalisation steps of both kinds, applied one after the other. Immutable and thread-safe.
class TextNormalizer {
 public:
  /// Throws Error{kBadInput} for a damaged character map or an invalid pattern.
  explicit TextNormalizer(const ComposedNormalizer& steps);

  bool empty() const noexcept { return parts_.empty(); }
  /// Applies the steps to one of several parts of a text, which may be tracked; the searches of all parts and steps
  /// share one budget. Throws Error{kBadInput} if the steps make the text many times longer, and like
  /// Matcher::for_each().
  AlignedText apply(AlignedText text, SearchWork& work) const;

 private:
  struct Replacer {
    Matcher matcher;
    std::string content;
  };
  using Part = std::variant<Normalizer, Replacer, TextStep::Kind>;
  std::vector<Part> parts_;
};

}  // namespace dragoman::tokenizer
