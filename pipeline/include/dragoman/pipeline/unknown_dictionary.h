#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <dragoman/core/hash_tables.h>

namespace dragoman::pipeline {

/// Replacements of source words for unknown tokens. Immutable; threads may share it.
///
///     const UnknownDictionary dictionary = UnknownDictionary::read("names.tsv");
///     std::cout << dictionary.look_up("Köln");
class UnknownDictionary {
 public:
  /// Reads lines with a source word, a tab and its replacement, which may be empty or have several words; gz and zst
  /// too. Blank lines are ignored. If a word occurs twice, the first line applies. Error{kBadInput} with file and line.
  static UnknownDictionary read(const std::filesystem::path& path);

  /// Returns the replacement of a word, or the word itself if there is none.
  std::string_view look_up(std::string_view word) const;
  std::size_t size() const noexcept { return words_.size(); }

 private:
  core::TextMap<std::string> words_;
};

}  // namespace dragoman::pipeline
