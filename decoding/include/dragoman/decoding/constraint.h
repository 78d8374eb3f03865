#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::decoding {

/// A word or a phrase that a translation must hold, in one of several forms: other words, or the same ones as they are
/// tokenised at the beginning of a text and elsewhere.
struct Constraint {
  struct Form {
    /// At least one.
    std::vector<std::int32_t> tokens{};
    /// Counts as the first tokens of the translation only.
    bool first_only = false;
  };
  /// At least one.
  std::vector<Form> forms{};
};

/// Where words begin and end, which tokens alone do not tell. Any number of threads may ask.
class WordBoundaries {
 public:
  virtual ~WordBoundaries();
  /// Whether a word goes on from the end of the tokens `before` into `after`; neither is empty.
  virtual bool joined(std::span<const std::int32_t> before, std::span<const std::int32_t> after) const = 0;
};

}  // namespace dragoman::decoding
