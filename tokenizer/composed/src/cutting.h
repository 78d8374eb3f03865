#pragma once

#include "definition/composed_definition.h"
#include "normalizing/normalizer.h"
#include "regex/matcher.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace dragoman::tokenizer {

/// A text and the parts that it has been cut into, in their order.
struct CutText {
  struct Part {
    std::size_t begin;
    std::size_t end;
  };
  AlignedText text;
  std::vector<Part> parts;
  std::size_t begin = 0;  ///< the place in the original text of a part that has not been cut yet
  bool whole = true;      ///< there is one part, which has not been cut yet
};

/// The parts of a pre-tokenizer, one after the other. Immutable: any thread may call.
class TextCutter {
 public:
  /// Throws Error{kBadInput} for a pattern that is none.
  explicit TextCutter(const std::vector<PreTokenizerStep>& steps);

  /// Whether a step asks where in the text a part begins, so that offsets must be tracked.
  bool needs_offsets() const noexcept { return needs_offsets_; }
  /// Throws as Matcher::for_each().
  void cut(CutText& text) const;

 private:
  struct Step {
    PreTokenizerStep definition;
    std::optional<Matcher> matcher;
  };
  std::vector<Step> steps_;
  bool needs_offsets_ = false;
};

}  // namespace dragoman::tokenizer
