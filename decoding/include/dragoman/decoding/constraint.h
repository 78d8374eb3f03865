#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::decoding {

/// A word or phrase that a translation must contain, in one of several forms. Forms are alternative words, or the
/// tokenisations of the same words at the beginning of a text and elsewhere.
///
///     const Constraint house{.forms = {{.tokens = {57, 312}}, {.tokens = {1044}, .first_only = true}}};
struct Constraint {
  struct Form {
    /// Not empty.
    std::vector<std::int32_t> tokens{};
    /// Whether the form is valid only at the beginning of the translation.
    bool first_only = false;
  };
  /// Not empty.
  std::vector<Form> forms{};
};

/// Finds word boundaries, which tokens alone do not determine. Thread-safe.
class WordBoundaries {
 public:
  virtual ~WordBoundaries();
  /// Returns whether a word continues from the end of the tokens `before` into `after`. Neither is empty.
  virtual bool joined(std::span<const std::int32_t> before, std::span<const std::int32_t> after) const = 0;
};

}  // namespace dragoman::decoding
