#include "dragoman/engine/latency.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/random.h>

namespace dragoman::engine {
namespace {

using std::chrono::microseconds;

TEST(LatencyHistogram, WithoutTimesThereAreNoFigures) {
  const LatencySummary none = LatencyHistogram().summary();
  EXPECT_EQ(none.count, 0U);
  EXPECT_EQ(none.p50, 0);
  EXPECT_EQ(none.max, 0);
}

/// Against the same times, sorted.
TEST(LatencyHistogram, PercentilesAreThoseOfTheTimesWithinTheirBuckets) {
  LatencyHistogram histogram;
  std::vector<std::int64_t> times;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::uint64_t magnitude = core::random_below(40, 1, i, 0);
    times.push_back(static_cast<std::int64_t>(core::random_below(std::uint64_t{2} << magnitude, 1, i, 1)));
    histogram.add(microseconds(times.back()));
  }
  std::ranges::sort(times);
  const LatencySummary found = histogram.summary();
  EXPECT_EQ(found.count, times.size());
  EXPECT_EQ(found.max, static_cast<double>(times.back()) / 1000);
  for (const auto& [quantile, value] : {std::pair{0.5, found.p50}, {0.95, found.p95}}) {
    const auto rank = static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(times.size())));
    const double exact = static_cast<double>(times[rank - 1]) / 1000;
    EXPECT_GE(value, exact);
    EXPECT_LE(value, exact * 1.032 + 0.001);
  }
}

TEST(LatencyHistogram, ATimeMayCountForSeveralAndComeFromAnyThread) {
  LatencyHistogram histogram;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) histogram.add(microseconds(10), 9);
        histogram.add(std::chrono::hours(100));
      });
  }
  const LatencySummary found = histogram.summary();
  EXPECT_EQ(found.count, 3U * (9000 + 1));
  EXPECT_EQ(found.p50, 0.01);
  EXPECT_EQ(found.p95, 0.01);
  EXPECT_EQ(found.max, 100.0 * 3600 * 1000);
}

}  // namespace
}  // namespace dragoman::engine
