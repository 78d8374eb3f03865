#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dragoman/core/hash_tables.h>

namespace dragoman::pipeline {

/// Knows the full stops of a language that end no sentence. Thread-safe.
class Abbreviations {
 public:
  /// `language`: a code of ISO 639. For languages without a list, only initials are known.
  explicit Abbreviations(std::string_view language);

  /// Returns whether the full stop at the end of `before` belongs to an abbreviation, an initial or an ordinal number
  /// that text continues after. `after` begins with the next word.
  bool continues(std::string_view before, std::string_view after) const;

 private:
  core::TextViewSet always_;
  core::TextViewSet before_numbers_;
  core::TextSet capitalised_;  ///< entries at the beginning of a sentence
  core::TextViewSet words_;    ///< single letters that are words
  bool has_ordinals_ = false;
};

}  // namespace dragoman::pipeline
