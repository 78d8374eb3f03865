#pragma once

#include <vector>

#include <dragoman/evaluation/metric.h>

namespace dragoman::evaluation {

/// The metric's value of each resample, [samples].
std::vector<double> bootstrap_values(const Metric& metric, const SegmentStatistics& statistics,
                                     const BootstrapOptions& options);

/// Mean, and half the distance between the values that 1/40 of the others lie below and above. `values` must not be
/// empty.
Confidence confidence_interval(std::vector<double> values);

/// Paired bootstrap test: the p-value of "the difference between the two systems is due to the choice of segments", as
/// sacreBLEU's --paired-bs computes it. Both statistics must be of the same segments and metric, else
/// Error{kInvalidArgument}.
double paired_bootstrap(const Metric& metric, const SegmentStatistics& baseline, const SegmentStatistics& system,
                        const BootstrapOptions& options = {});

}  // namespace dragoman::evaluation
