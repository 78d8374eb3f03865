#include "dragoman/engine/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dragoman::engine {
namespace {

double milliseconds(std::uint64_t microseconds) {
  return static_cast<double>(microseconds) / 1000;
}

std::uint64_t rank_of(double quantile, std::uint64_t count) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(quantile * static_cast<double>(count))));
}

}  // namespace

/// The first kBits + 1 significant bits select the bucket.
std::size_t LatencyHistogram::bucket_of(std::uint64_t microseconds) noexcept {
  const int shift = std::max(0, static_cast<int>(std::bit_width(microseconds)) - kBits - 1);
  return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(microseconds >> shift);
}

std::uint64_t LatencyHistogram::largest_in(std::size_t bucket) noexcept {
  const std::size_t shift = bucket < (std::size_t{2} << kBits) ? 0 : (bucket >> kBits) - 1;
  const std::uint64_t leading = bucket - (shift << kBits);
  return ((leading + 1) << shift) - 1;
}

void LatencyHistogram::add(Duration duration, std::uint64_t times) noexcept {
  const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  const auto microseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, passed));
  counts_[bucket_of(microseconds)].fetch_add(times, std::memory_order_relaxed);
  std::uint64_t largest = largest_.load(std::memory_order_relaxed);
  while (largest < microseconds && !largest_.compare_exchange_weak(largest, microseconds, std::memory_order_relaxed)) {
  }
}

LatencySummary LatencyHistogram::summary() const noexcept {
  LatencySummary result;
  for (const auto& count : counts_) result.count += count.load(std::memory_order_relaxed);
  if (result.count == 0) return result;
  result.p50 = at_rank(rank_of(0.5, result.count));
  result.p95 = at_rank(rank_of(0.95, result.count));
  result.max = milliseconds(largest_.load(std::memory_order_relaxed));
  return result;
}

double LatencyHistogram::at_rank(std::uint64_t rank) const noexcept {
  const std::uint64_t largest = largest_.load(std::memory_order_relaxed);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket].load(std::memory_order_relaxed);
    if (seen >= rank) return milliseconds(std::min(largest, largest_in(bucket)));
  }
  return milliseconds(largest);
}

}  // namespace dragoman::engine
