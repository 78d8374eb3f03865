#pragma once

#include "access.h"

#include <cmath>

/// Selection of the best of many values with tokens, by integer keys that have the same order.
namespace dragoman::backend::cuda::device {

/// Returns a key that is greater if the value is greater or, for equal values, if the token is smaller. NaN counts as
/// minus infinity, and both zeros are equal. The key 0 means that there is no value.
SIMT_DEVICE std::uint64_t best_key(float number, std::int32_t token) {
  const float ordered = number != number ? -INFINITY : number + 0.0F;  // -0 + 0 is 0
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &ordered, sizeof bits);
  bits ^= (bits >> 31) != 0 ? 0xFFFFFFFFU : 0x80000000U;
  return static_cast<std::uint64_t>(bits) << 32 | ~static_cast<std::uint32_t>(token);
}

struct BestKey {
  std::uint64_t key = 0;
  int index = 0;
};

/// Returns the best of the lane's keys, which are every 32nd key. It considers only keys less than `below`.
template <class KeyOf>
SIMT_DEVICE BestKey best_of_lane(int count, const KeyOf& key_of, std::uint64_t below) {
  BestKey best;
  for (int i = simt::thread_index() % kWarp; i < count; i += kWarp) {
    const std::uint64_t key = key_of(i);
    if (key < below && key > best.key) best = {key, i};
  }
  return best;
}
SIMT_DEVICE std::uint64_t greatest_of_warp(std::uint64_t key) {
  const auto high = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t greatest = simt::reduce_max(high);
  const std::uint32_t low = simt::reduce_max(high == greatest ? static_cast<std::uint32_t>(key) : 0U);
  return static_cast<std::uint64_t>(greatest) << 32 | low;
}

/// Finds the k best of `count` keys with one warp. Keys must differ unless they are 0. The lane that has the key of
/// rank n, counted from 0, calls take(n, best). Keys are found in descending order. So all remaining keys are below the
/// last one found, and only the lane of that key must search its keys again.
template <class KeyOf, class Take>
SIMT_DEVICE void take_best_keys(int count, int k, const KeyOf& key_of, const Take& take) {
  BestKey own = best_of_lane(count, key_of, ~std::uint64_t{0});
  for (int n = 0; n < k; ++n) {
    const std::uint64_t greatest = greatest_of_warp(own.key);
    const bool has_it = greatest != 0 ? own.key == greatest : simt::thread_index() % kWarp == 0;
    if (has_it) {
      take(n, own);
      own = best_of_lane(count, key_of, greatest);
    }
  }
}

}  // namespace dragoman::backend::cuda::device
