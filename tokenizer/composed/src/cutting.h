#pragma once

#include "definition/composed_definition.h"
#include "normalizing/normalizer.h"
#include "regex/matcher.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace dragoman::tokenizer {

/// A text and the parts into which it has been split, in order.
struct CutText {
  struct Part {
    std::size_t begin;
    std::size_t end;
  };
  AlignedText text;
  std::vector<Part> parts;
};

/// The steps of a pre-tokenizer, applied one after the other. Immutable and thread-safe.
class TextCutter {
 public:
  /// Throws Error{kBadInput} for an invalid pattern.
  explicit TextCutter(const std::vector<PreTokenizerStep>& steps);

  /// Returns whether a step depends on the position at which a part begins in the text, so that spans must be tracked.
  bool needs_spans() const noexcept { return needs_spans_; }
  /// Cuts one of several parts of a text; the searches of all parts and steps share one budget. Throws like
  /// Matcher::for_each().
  void cut(CutText& text, SearchWork& work) const;

 private:
  struct Step {
    PreTokenizerStep definition;
    std::optional<Matcher> matcher;
  };
  std::vector<Step> steps_;
  bool needs_spans_ = false;
};

}  // namespace dragoman::tokenizer
