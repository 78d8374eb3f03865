#include <algorithm>
#include <cmath>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/evaluation/bootstrap.h>

namespace dragoman::evaluation {
namespace {

std::vector<double> resampled_sum(const SegmentStatistics& statistics, std::uint64_t seed, std::uint64_t sample) {
  std::vector<double> sum(statistics.width());
  for (std::size_t draw = 0; draw < statistics.segments(); ++draw) {
    const auto row = statistics.row(core::random_below(statistics.segments(), seed, sample, draw));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
  }
  return sum;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> bootstrap_values(const Metric& metric, const SegmentStatistics& statistics,
                                     const BootstrapOptions& options) {
  core::require(options.samples > 0, core::ErrorCode::kInvalidArgument,
                "bootstrap resampling needs at least one sample");
  std::vector<double> values(options.samples);
  for (std::uint32_t sample = 0; sample < options.samples; ++sample)
    values[sample] = metric.value(resampled_sum(statistics, options.seed, sample));
  return values;
}

Confidence confidence_interval(std::vector<double> values) {
  core::require(!values.empty(), core::ErrorCode::kInvalidArgument, "a confidence interval needs at least one value");
  std::sort(values.begin(), values.end());
  const std::size_t outside = values.size() / 40;
  return {.mean = mean_of(values), .half_width = 0.5 * (values[values.size() - outside - 1] - values[outside])};
}

double paired_bootstrap(const Metric& metric, const SegmentStatistics& baseline, const SegmentStatistics& system,
                        const BootstrapOptions& options) {
  core::require(baseline.segments() == system.segments() && baseline.width() == system.width(),
                core::ErrorCode::kInvalidArgument,
                "statistics [{}, {}] and [{}, {}] cannot be paired; both systems must be scored on the same segments "
                "with the same metric",
                baseline.segments(), baseline.width(), system.segments(), system.width());
  std::vector<double> differences = bootstrap_values(metric, system, options);
  const std::vector<double> baseline_values = bootstrap_values(metric, baseline, options);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = std::fabs(differences[i] - baseline_values[i]);
  const double real = std::fabs(metric.value(baseline.sum()) - metric.value(system.sum()));
  const double mean = mean_of(differences);
  const auto larger = std::count_if(differences.begin(), differences.end(), [&](double d) { return d - mean > real; });
  return static_cast<double>(larger + 1) / static_cast<double>(differences.size() + 1);
}

}  // namespace dragoman::evaluation
