#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dragoman::pipeline {

/// What stands for source words in the place of unknown tokens. Immutable; threads share it.
class UnknownDictionary {
 public:
  /// Reads lines of a source word, a tab, and what it becomes, which may be empty or of several words; gz and zst too.
  /// Blank lines do not count; of a word that stands there twice the first line does. Error{kBadInput} with file and
  /// line.
  static UnknownDictionary read(const std::filesystem::path& path);

  /// The word itself if it is not there.
  std::string_view look_up(std::string_view word) const;
  std::size_t size() const noexcept { return words_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> words_;
};

}  // namespace dragoman::pipeline
