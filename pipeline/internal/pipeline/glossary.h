#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>

namespace dragoman::pipeline {

/// A term of the source language, and the terms of the target language that may translate it.
struct GlossaryEntry {
  std::string source;
  std::vector<std::string> targets;
  /// Whether upper and lower case must match.
  bool exact_case = false;
};

/// The required translations of terms. Immutable.
class Glossary {
 public:
  static constexpr std::size_t kMaxBytesOfTerm = 1000;
  static constexpr std::size_t kMaxTargets = 100;  ///< per source term

  /// Reads lines with a source term, a tab and a target term. An optional third column, `exact` or `any` (the default),
  /// specifies the case of the source term. Blank lines are ignored. Several lines with the same source term (and case)
  /// mean that any of their targets is accepted. Error{kBadInput} names file and line.
  static Glossary read(const std::filesystem::path& path);
  explicit Glossary(std::vector<GlossaryEntry> entries);

  const std::vector<GlossaryEntry>& entries() const noexcept { return entries_; }
  /// Returns the entries whose source terms occur in the text as whole words, each once, ordered by the first
  /// occurrence. Of overlapping terms, the longest wins; of equally long ones, the first. Scripts without spaces
  /// between words have a boundary at every character. Text and terms are compared in NFC.
  std::vector<std::size_t> find(std::string_view text) const;

 private:
  struct Key {
    std::u32string folded;  ///< NFC, case-folded
    std::u32string exact;   ///< NFC; empty: any case
    std::size_t entry;
  };
  struct Match {
    std::size_t begin;
    std::size_t length;
    std::size_t entry;
  };

  void find_at(std::u32string_view exact, std::u32string_view folded, std::size_t begin,
               std::vector<Match>& matches) const;

  std::vector<GlossaryEntry> entries_;
  std::vector<Key> keys_;  ///< sorted by `folded`, then by `exact`
};

/// Returns whether a word continues from one character to the next.
bool within_a_word(char32_t before, char32_t after);

}  // namespace dragoman::pipeline
