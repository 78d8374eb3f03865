#include "evaluation/numpy_random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/evaluation/bootstrap.h>
#include <dragoman/evaluation/significance.h>

namespace dragoman::evaluation {
namespace {

/// Returns the summed statistics of one resample. Draws with replacement; the number of draws is the number of rows.
std::vector<double> resampled_sum(const SegmentStatistics& statistics, NumpyRandom& random) {
  std::vector<double> sum(statistics.width());
  const auto segments = static_cast<std::uint32_t>(statistics.segments());
  core::StopCheck check("drawing segments");
  for (std::uint32_t draw = 0; draw < segments; ++draw) {
    check();
    const auto row = statistics.row(random.below(segments));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
  }
  return sum;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> bootstrap_values(const Metric& metric, const SegmentStatistics& statistics,
                                     const BootstrapOptions& options, const std::stop_token& stop) {
  const core::StopScope scope(stop);
  core::require(options.samples > 0, core::ErrorCode::kInvalidArgument,
                "bootstrap resampling needs at least one sample");
  core::require(statistics.segments() < std::numeric_limits<std::uint32_t>::max(), core::ErrorCode::kInvalidArgument,
                "bootstrap resampling of {} segments: they must be fewer than 2^32 - 1", statistics.segments());
  NumpyRandom random(options.seed);
  std::vector<double> values(options.samples);
  for (double& value : values) {
    core::check_stop("drawing segments");
    value = metric.value(resampled_sum(statistics, random));
  }
  return values;
}

Confidence confidence_interval(std::vector<double> values) {
  core::require(!values.empty(), core::ErrorCode::kInvalidArgument, "a confidence interval needs at least one value");
  std::sort(values.begin(), values.end());
  const std::size_t outside = values.size() / 40;
  return {.mean = mean_of(values), .half_width = 0.5 * (values[values.size() - outside - 1] - values[outside])};
}

double paired_bootstrap(const Metric& metric, const SegmentStatistics& baseline, const SegmentStatistics& system,
                        const BootstrapOptions& options, const std::stop_token& stop) {
  const std::vector<SegmentStatistics> both{baseline, system};
  return *paired_test(metric, both, {.samples = options.samples, .seed = options.seed}, stop).back().p_value;
}

}  // namespace dragoman::evaluation
