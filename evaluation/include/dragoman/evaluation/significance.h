#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dragoman/evaluation/metric.h>

namespace dragoman::evaluation {

enum class PairedTest : std::uint8_t {
  /// Bootstrap resampling (Koehn, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP 2004):
  /// both systems are scored on segments that are drawn with replacement.
  kBootstrap,
  /// Approximate randomisation (Riezler & Maxwell, "On Some Pitfalls in Automatic Evaluation and Significance Testing
  /// for MT", 2005): in each trial every segment's translations change sides or not, by a coin.
  kApproximateRandomization,
};

struct PairedOptions {
  PairedTest test = PairedTest::kBootstrap;
  /// Resamples or trials; sacreBLEU's defaults are 1000 and 10000.
  std::uint32_t samples = 1000;
  std::uint64_t seed = 12345;
};

/// What a test says of one system.
struct PairedResult {
  double score = 0;
  /// About the probability that a difference to the baseline as large as this one comes by chance; none of the
  /// baseline itself.
  std::optional<double> p_value{};
  /// Of the bootstrap's resamples; none with approximate randomisation.
  std::optional<Confidence> confidence{};
};

/// Compares each system with the first, the baseline, as sacreBLEU's --paired-bs and --paired-ar do, by the same
/// numbers drawn from the same seed, so that scores and p-values are the same. `systems` are counts of the same
/// segments by the same metric, at least two; Error{kInvalidArgument} if not, or if `samples` is 0. One result for each
/// system, in order.
std::vector<PairedResult> paired_test(const Metric& metric, std::span<const SegmentStatistics> systems,
                                      const PairedOptions& options = {});

/// The signature of the scores of a test, or of scores without one, with so many references for each segment.
std::string paired_signature(const Metric& metric, std::size_t references, const std::optional<PairedOptions>& options);

}  // namespace dragoman::evaluation
