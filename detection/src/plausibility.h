#pragma once

#include "words.h"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dragoman::detection {

/// How much a text looks like a text at all. The linear model compares languages with each other, so for bytes that are
/// in none of them it still prefers one, often clearly. A text is implausible if
///
/// - many of its characters are no text: invalid UTF-8, control characters, unassigned characters;
/// - it repeats few n-grams: "aaaaaaaa", "xyxyxyxy";
/// - it has too few vowels or too few consonants, as random letters do (Latin and Cyrillic, from kLeastLetters).
///
/// The bounds were chosen on random texts, and so that the sentences of the tests and of Multi30k are plausible, and
/// all but a few in 1000 of 46 languages' Bibles.
class Plausibility {
 public:
  void add_text(std::string_view text);
  void add_word(const Word& word);
  void add_feature(std::uint32_t hash) {
    ++features_;
    seen_.set(hash % seen_.size());
  }

  /// Returns a factor for confidences: 1 for a plausible text, at least kLeast for others.
  double value() const;

  static constexpr double kLeast = 0.02;
  static constexpr std::size_t kLeastLetters = 20;

 private:
  double of_characters() const;
  double of_repetition() const;
  double of_vowels() const;

  std::size_t characters_ = 0;
  std::size_t unreadable_ = 0;
  std::size_t features_ = 0;
  std::bitset<4096> seen_;  ///< features, by their hashes
  // Letters of Latin and Cyrillic:
  std::size_t letters_ = 0;
  std::size_t vowels_ = 0;
  std::size_t repeated_ = 0;  ///< the same as the letter before
  char32_t last_ = 0;
};

}  // namespace dragoman::detection
