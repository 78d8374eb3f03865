#pragma once

#include "ngrams.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dragoman::evaluation {

/// The sorted n-grams of several sequences, so that any two sequences can be compared without counting again.
class NgramProfiles {
 public:
  NgramProfiles(NgramIndex ngrams, std::size_t sequences, std::size_t orders);

  /// Returns the number of n-grams. Orders count from 0.
  std::int64_t total(std::size_t order, std::size_t sequence) const {
    return static_cast<std::int64_t>(profiles_[order][sequence].size());
  }
  /// Returns the sum over n-grams of the smaller of their two counts.
  std::int64_t matches(std::size_t order, std::size_t a, std::size_t b) const;

 private:
  std::vector<std::vector<std::vector<std::uint32_t>>> profiles_;  ///< [order][sequence]
};

}  // namespace dragoman::evaluation
