#pragma once

#include "common/answers.h"

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dragoman::server {

/// Source and target terms, in their order.
using GlossaryEntries = std::vector<std::pair<std::string, std::string>>;

/// Parses entries as DeepL's interface carries them: lines of "tsv" or "csv". BadRequest that names the line.
GlossaryEntries parse_entries(std::string_view text, std::string_view format);
/// Returns the entries as lines of tab-separated values.
std::string to_tsv(const GlossaryEntries& entries);

struct StoredGlossary {
  std::string id{};
  std::string owner{};  ///< the caller's key
  std::string name{};
  std::string source{};
  std::string target{};
  std::chrono::system_clock::time_point created{};
  GlossaryEntries entries{};
  SharedTerms terms{};
};

/// The glossaries of all callers, in memory. Each caller sees its own only. Thread-safe.
class GlossaryStore {
 public:
  static constexpr std::size_t kMaxGlossaries = 1000;
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  /// Returns the glossary with its new id. BadRequest with status 456 if there is no room.
  StoredGlossary put(StoredGlossary glossary);
  std::optional<StoredGlossary> get(const std::string& owner, const std::string& id) const;
  std::vector<StoredGlossary> list(const std::string& owner) const;
  bool remove(const std::string& owner, const std::string& id);

 private:
  mutable std::mutex mutex_;
  std::list<StoredGlossary> glossaries_;
  std::size_t bytes_ = 0;
};

}  // namespace dragoman::server
