#include "ngram_profiles.h"

#include <algorithm>

#include <dragoman/core/stop_scope.h>

namespace dragoman::evaluation {

NgramProfiles::NgramProfiles(NgramIndex ngrams, std::size_t sequences, std::size_t orders) : profiles_(orders) {
  for (std::size_t order = 0; order < orders; ++order) {
    if (order > 0) ngrams.next_order();
    for (std::size_t s = 0; s < sequences; ++s) {
      core::check_stop("counting n-grams");
      auto& profile = profiles_[order].emplace_back(ngrams.numbers(s).begin(), ngrams.numbers(s).end());
      std::sort(profile.begin(), profile.end());
    }
  }
}

std::int64_t NgramProfiles::matches(std::size_t order, std::size_t a, std::size_t b) const {
  const std::vector<std::uint32_t>& first = profiles_[order][a];
  const std::vector<std::uint32_t>& second = profiles_[order][b];
  core::check_stop("comparing texts");
  std::int64_t common = 0;
  for (auto x = first.begin(), y = second.begin(); x != first.end() && y != second.end();) {
    // Branch-free, because the branches would be unpredictable.
    const std::uint32_t left = *x;
    const std::uint32_t right = *y;
    common += left == right ? 1 : 0;
    x += left <= right ? 1 : 0;
    y += right <= left ? 1 : 0;
  }
  return common;
}

}  // namespace dragoman::evaluation
