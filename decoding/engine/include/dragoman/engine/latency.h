#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace dragoman::engine {

/// Summary of a distribution of times, in milliseconds. All members are 0 if there are no times. Percentiles use the
/// nearest-rank method.
struct LatencySummary {
  std::uint64_t count = 0;
  double p50 = 0;
  double p95 = 0;
  double max = 0;
};

/// Latencies of an engine's translations since the construction of the engine.
struct Latencies {
  /// From submit() of a request to its first token: the wait in the queue, the encoder and one step.
  LatencySummary first_token{};
  /// From each token of a hypothesis to the next one, the end included: one step, and other work of the worker
  /// meanwhile.
  LatencySummary next_token{};
};

/// A histogram of times in constant memory. Thread-safe. Percentiles exceed the true value by at most 3.2 % (or one
/// microsecond). The maximum is exact to the microsecond.
///
///     LatencyHistogram histogram;
///     histogram.add(std::chrono::milliseconds(12));
///     std::cout << histogram.summary().p50;
class LatencyHistogram {
 public:
  using Duration = std::chrono::steady_clock::duration;

  void add(Duration duration, std::uint64_t times = 1) noexcept;
  LatencySummary summary() const noexcept;

 private:
  /// Each power of two of microseconds has 2^kBits buckets.
  static constexpr int kBits = 5;
  static constexpr std::size_t kBuckets = std::size_t{64 - kBits + 1} << kBits;

  static std::size_t bucket_of(std::uint64_t microseconds) noexcept;
  static std::uint64_t largest_in(std::size_t bucket) noexcept;
  double at_rank(std::uint64_t rank) const noexcept;

  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
  std::atomic<std::uint64_t> largest_ = 0;
};

}  // namespace dragoman::engine
