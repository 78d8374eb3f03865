#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace dragoman::engine {

/// Figures of a distribution of times, in milliseconds; all 0 if there are none. Percentiles are by nearest rank.
struct LatencySummary {
  std::uint64_t count = 0;
  double p50 = 0;
  double p95 = 0;
  double max = 0;
};

/// What an engine's translations waited for, since it was made.
struct Latencies {
  /// From a request's submit() to its first token: its turn in the queue, the encoder, one step.
  LatencySummary first_token{};
  /// From each token of a hypothesis to its next, the end included: a step, and what else its worker did meanwhile.
  LatencySummary next_token{};
};

/// Times by how often they occurred, in memory that does not grow. Thread-safe. Percentiles are at most 3.2 % (or a
/// microsecond) above the truth; the largest is exact to the microsecond.
class LatencyHistogram {
 public:
  using Duration = std::chrono::steady_clock::duration;

  void add(Duration duration, std::uint64_t times = 1) noexcept;
  LatencySummary summary() const noexcept;

 private:
  /// Each power of two of microseconds has so many buckets.
  static constexpr int kBits = 5;
  static constexpr std::size_t kBuckets = std::size_t{64 - kBits + 1} << kBits;

  static std::size_t bucket_of(std::uint64_t microseconds) noexcept;
  static std::uint64_t largest_in(std::size_t bucket) noexcept;
  double at_rank(std::uint64_t rank) const noexcept;

  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
  std::atomic<std::uint64_t> largest_ = 0;
};

}  // namespace dragoman::engine
