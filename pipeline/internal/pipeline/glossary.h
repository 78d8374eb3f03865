#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>

namespace dragoman::pipeline {

/// A term of the source language and those of the target language that may stand for it.
struct GlossaryEntry {
  std::string source;
  std::vector<std::string> targets;
  /// Whether upper and lower case must be as they are written.
  bool exact_case = false;
};

/// Which terms must be translated by which. Immutable.
class Glossary {
 public:
  static constexpr std::size_t kMaxBytesOfTerm = 1000;
  static constexpr std::size_t kMaxTargets = 100;  ///< of one source term

  /// Lines of a source term, a tab and a target term, and if there is a third column `exact` or `any` for the case of
  /// the source term (`any` if there is none). Blank lines count for nothing; several lines of one source term (and
  /// case) say that any of their targets will do. Error{kBadInput} names file and line.
  static Glossary read(const std::filesystem::path& path);
  explicit Glossary(std::vector<GlossaryEntry> entries);

  const std::vector<GlossaryEntry>& entries() const noexcept { return entries_; }
  /// The entries whose source terms stand in the text as whole words, each once, by where they are first met. Of terms
  /// that overlap in the text the longest counts, of equally long ones the first. Scripts without blanks between words
  /// have a boundary at every character. Text and terms are compared in NFC.
  std::vector<std::size_t> find(std::string_view text) const;

 private:
  struct Key {
    std::u32string folded;  ///< NFC, without case
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
  std::vector<Key> keys_;  ///< by `folded`, and by `exact` where those are equal
};

/// Whether a word goes on from one character to the next.
bool within_a_word(char32_t before, char32_t after);

}  // namespace dragoman::pipeline
