#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace dragoman::tokenizer {

/// Returns the path of the companion file. vocab.json and merges.txt may have a prefix, as in "roberta-vocab.json".
inline std::filesystem::path beside(const std::filesystem::path& path, std::string_view own, std::string_view other) {
  const std::string name = path.filename().string();
  const std::string_view front = std::string_view(name).substr(0, name.size() - std::min(name.size(), own.size()));
  return path.parent_path() / fmt::format("{}{}", name.ends_with(own) ? front : "", other);
}

inline constexpr std::string_view kVocabularyName = "vocab.json";
inline constexpr std::string_view kMergesName = "merges.txt";

inline std::filesystem::path vocabulary_beside(const std::filesystem::path& merges) {
  return beside(merges, kMergesName, kVocabularyName);
}

inline std::filesystem::path merges_beside(const std::filesystem::path& vocabulary) {
  return beside(vocabulary, kVocabularyName, kMergesName);
}

}  // namespace dragoman::tokenizer
