#include "evaluation/numpy_random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/evaluation/bootstrap.h>
#include <dragoman/evaluation/significance.h>

namespace dragoman::evaluation {
namespace {

void add_row(std::vector<double>& sum, std::span<const double> row) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
}

void require_paired(std::span<const SegmentStatistics> systems, const PairedOptions& options) {
  core::require(systems.size() >= 2, core::ErrorCode::kInvalidArgument,
                "a paired test compares at least two systems; there are {}", systems.size());
  core::require(options.samples > 0, core::ErrorCode::kInvalidArgument, "a paired test needs at least one sample");
  const SegmentStatistics& first = systems.front();
  for (const SegmentStatistics& other : systems)
    core::require(other.segments() == first.segments() && other.width() == first.width(),
                  core::ErrorCode::kInvalidArgument,
                  "statistics [{}, {}] and [{}, {}] cannot be paired; all systems must be scored on the same segments "
                  "with the same metric",
                  first.segments(), first.width(), other.segments(), other.width());
}

/// Returns the share of chance results above the observed one. Both counts are increased by one, so that the risk of a
/// false positive stays below the level of the test, however few samples there are.
double share_above(const std::vector<double>& by_chance, double seen) {
  const auto larger = std::count_if(by_chance.begin(), by_chance.end(), [&](double value) { return value > seen; });
  return static_cast<double>(larger + 1) / static_cast<double>(by_chance.size() + 1);
}

/// Returns the difference between the two scores in each trial.
std::vector<double> randomized_differences(const Metric& metric, const SegmentStatistics& baseline,
                                           const SegmentStatistics& system, const PairedOptions& options) {
  NumpyRandom random(options.seed);
  NumpyRandom::Coins coins(random);
  std::vector<double> differences(options.samples);
  std::vector<double> one(system.width()), other(system.width());
  core::StopCheck check("exchanging segments");
  for (double& difference : differences) {
    core::check_stop("exchanging segments");
    std::fill(one.begin(), one.end(), 0.0);
    std::fill(other.begin(), other.end(), 0.0);
    for (std::size_t i = 0; i < system.segments(); ++i) {
      check();
      const bool keep = coins.toss();
      add_row(one, (keep ? baseline : system).row(i));
      add_row(other, (keep ? system : baseline).row(i));
    }
    difference = std::fabs(metric.value(one) - metric.value(other));
  }
  return differences;
}

/// Returns, for each resample, how much the difference between the two scores exceeds its mean.
std::vector<double> resampled_differences(const std::vector<double>& baseline, const std::vector<double>& system) {
  std::vector<double> differences(system.size());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = std::fabs(system[i] - baseline[i]);
  const double mean =
      std::accumulate(differences.begin(), differences.end(), 0.0) / static_cast<double>(differences.size());
  for (double& difference : differences) difference -= mean;
  return differences;
}

}  // namespace

std::vector<PairedResult> paired_test(const Metric& metric, std::span<const SegmentStatistics> systems,
                                      const PairedOptions& options, const std::stop_token& stop) {
  const core::StopScope scope(stop);
  require_paired(systems, options);
  const BootstrapOptions resampling{.samples = options.samples, .seed = options.seed};
  const bool bootstrap = options.test == PairedTest::kBootstrap;
  std::vector<PairedResult> results;
  std::vector<double> of_baseline;
  for (const SegmentStatistics& system : systems) {
    const bool first = results.empty();
    PairedResult result{.score = metric.value(system.sum())};
    std::vector<double> values;
    if (bootstrap) {
      values = bootstrap_values(metric, system, resampling);
      result.confidence = confidence_interval(values);
    }
    if (!first) {
      const double seen = std::fabs(results.front().score - result.score);
      result.p_value = share_above(bootstrap ? resampled_differences(of_baseline, values)
                                             : randomized_differences(metric, systems.front(), system, options),
                                   seen);
    } else {
      of_baseline = std::move(values);
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace dragoman::evaluation
