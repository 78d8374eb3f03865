#pragma once

#include "random.h"

#include <cmath>

/// Functions and types that the kernels of top_k.cu share.
namespace dragoman::backend::cuda::device {

inline constexpr std::int32_t kNoToken = 0x7FFFFFFF;

/// ops::gumbel_noise.
SIMT_DEVICE double gumbel_noise(const ops::RowNoise& noise, std::int64_t vocabulary, std::int64_t token) {
  const std::uint64_t index = noise.step * static_cast<std::uint64_t>(vocabulary) + static_cast<std::uint64_t>(token);
  const double uniform = fmax(1 - random_uniform(noise.seed, noise.stream, index), 0x1p-54);
  return -log(fmax(-log(uniform), 0x1p-60));
}

/// Candidates are ordered by descending rank, then by ascending token.
struct Candidate {
  double rank = -INFINITY;
  std::int32_t token = kNoToken;

  SIMT_DEVICE bool before(const Candidate& other) const {
    return rank > other.rank || (rank == other.rank && token < other.token);
  }
};

SIMT_DEVICE Candidate best_of_warp(Candidate best) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const Candidate other{simt::shuffle_xor(best.rank, mask), simt::shuffle_xor(best.token, mask)};
    if (other.before(best)) best = other;
  }
  return best;
}

/// Returns the first index of [begin, end) for which is_below is false.
template <class IsBelow>
SIMT_DEVICE std::int64_t lower_bound(std::int64_t begin, std::int64_t end, const IsBelow& is_below) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (is_below(middle))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}
/// Returns the first entry that is not before the token of the row. `entries` are sorted.
template <class Entry>
SIMT_DEVICE std::int64_t entries_from(const Entry* entries, std::int64_t count, std::int64_t row, std::int64_t token) {
  return lower_bound(0, count, [&](std::int64_t i) {
    return entries[i].row < row || (entries[i].row == row && entries[i].token < token);
  });
}

}  // namespace dragoman::backend::cuda::device
