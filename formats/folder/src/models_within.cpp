#include "models_within.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/quote.h>

namespace dragoman::formats {

std::string describe_models_within(const std::filesystem::path& folder,
                                   const std::function<bool(const std::filesystem::path&)>& is_model) {
  constexpr std::size_t kMaxEntries = 1000;
  constexpr std::size_t kMaxNames = 8;
  std::vector<std::string> names;
  std::size_t entries = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end && entries < kMaxEntries;
       entry.increment(error), ++entries) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && is_model(entry->path())) names.push_back(entry->path().filename().string());
  }
  if (names.empty()) return {};
  std::ranges::sort(names);
  // The model that a training run has selected comes first.
  if (const auto best = std::ranges::find(names, "best"); best != names.end())
    std::rotate(names.begin(), best, best + 1);
  std::error_code ignored;
  const char* const what =
      std::filesystem::exists(folder / "run.json", ignored) ? "is a training run and no model" : "is no model";
  const std::string first = core::printable((folder / names.front()).string(), 200);
  if (names.size() == 1) return fmt::format("{}: {}, but holds one: {}; name that", folder.string(), what, first);
  const std::size_t shown = std::min(names.size(), kMaxNames);
  std::vector<std::string> printed;
  for (std::size_t i = 0; i < shown; ++i) printed.push_back(core::printable(names[i], 80));
  return fmt::format("{}: {}, but holds the models {}{}; name one of them: {}", folder.string(), what,
                     fmt::join(printed, ", "), names.size() > shown ? ", ..." : "", first);
}

}  // namespace dragoman::formats
