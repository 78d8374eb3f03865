#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/evaluation/metric.h>

namespace dragoman::evaluation {

/// The significance test for the difference between two systems.
enum class PairedTest : std::uint8_t {
  /// Bootstrap resampling (Koehn, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP 2004):
  /// both systems are scored on segments that are drawn with replacement.
  kBootstrap,
  /// Approximate randomisation (Riezler & Maxwell, "On Some Pitfalls in Automatic Evaluation and Significance Testing
  /// for MT", 2005): each trial tosses a coin for every segment to decide whether its two translations change sides.
  kApproximateRandomization,
};

/// The options of paired_test().
struct PairedOptions {
  PairedTest test = PairedTest::kBootstrap;
  /// The number of resamples or trials. sacreBLEU's defaults are 1000 and 10000.
  std::uint32_t samples = 1000;
  std::uint64_t seed = 12345;
};

/// The result of a test for one system.
struct PairedResult {
  double score = 0;
  /// The approximate probability that a difference to the baseline of this size occurs by chance. Not set for the
  /// baseline.
  std::optional<double> p_value{};
  /// From the bootstrap's resamples. Not set with approximate randomisation.
  std::optional<Confidence> confidence{};
};

/// Compares each system with the first one, the baseline, as sacreBLEU's --paired-bs and --paired-ar do. The random
/// numbers for a seed are the same, so scores and p-values are equal to sacreBLEU's.
///
///     const Bleu metric;                                            // bleu.h
///     const std::vector<std::vector<std::string>> references{{"The cat sat.", "It slept."}};
///     const std::vector<std::string> baseline{"The cat sat.", "It sleeps."};
///     const std::vector<std::string> system{"A cat sat.", "It slept."};
///     const std::vector<SegmentStatistics> systems{count_segments(metric, baseline, references),
///                                                  count_segments(metric, system, references)};
///     std::cout << paired_test(metric, systems).back().p_value.value();
///
/// `systems` holds at least two sets of statistics, of the same segments and metric. Returns one result for each
/// system, in order. Throws Error{kInvalidArgument} if the systems do not match or if `samples` is 0, and
/// Error{kInterrupted} after a stop request.
std::vector<PairedResult> paired_test(const Metric& metric, std::span<const SegmentStatistics> systems,
                                      const PairedOptions& options = {}, const std::stop_token& stop = {});

/// Returns the signature of scores with `references` references per segment, from a test or (without `options`) from
/// none.
std::string paired_signature(const Metric& metric, std::size_t references, const std::optional<PairedOptions>& options);

}  // namespace dragoman::evaluation
