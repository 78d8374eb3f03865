#pragma once

#include <stop_token>
#include <vector>

#include <dragoman/evaluation/metric.h>

namespace dragoman::evaluation {

/// Returns the metric's value on each resample, [samples]. Error{kInterrupted} after a stop request.
std::vector<double> bootstrap_values(const Metric& metric, const SegmentStatistics& statistics,
                                     const BootstrapOptions& options, const std::stop_token& stop = {});

/// Returns the mean, and half the width of the interval that excludes the lowest and the highest 1/40 of the values.
/// `values` must not be empty.
Confidence confidence_interval(std::vector<double> values);

/// Returns the p-value of "the difference between the two systems is due to the choice of segments": the paired
/// bootstrap test, as sacreBLEU's --paired-bs computes it. Throws Error{kInvalidArgument} unless both statistics are of
/// the same segments and metric, and Error{kInterrupted} after a stop request.
///
///     const Bleu metric;                                            // bleu.h
///     const std::vector<std::vector<std::string>> references{{"The cat sat.", "It slept."}};
///     const std::vector<std::string> first{"The cat sat.", "It sleeps."};
///     const std::vector<std::string> second{"A cat sat.", "It slept."};
///     const double p = paired_bootstrap(metric, count_segments(metric, first, references),
///                                       count_segments(metric, second, references));
double paired_bootstrap(const Metric& metric, const SegmentStatistics& baseline, const SegmentStatistics& system,
                        const BootstrapOptions& options = {}, const std::stop_token& stop = {});

}  // namespace dragoman::evaluation
