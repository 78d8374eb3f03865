// A stop request ends every function of the metrics that may take long.
#include "golden.h"
#include "stop_during.h"

#include <random>

#include <gtest/gtest.h>

#include <dragoman/core/stop_scope.h>
#include <dragoman/evaluation/bootstrap.h>

namespace dragoman::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kManySamples = 2'000'000;

std::string line_of(std::size_t words, unsigned seed) {
  std::mt19937 random(seed);
  std::string line;
  for (std::size_t i = 0; i < words; ++i) line += "w" + std::to_string(random() % 200) + " ";
  return line;
}

std::vector<std::unique_ptr<evaluation::Metric>> metrics_to_stop() {
  std::vector<std::unique_ptr<evaluation::Metric>> metrics;
  metrics.push_back(std::make_unique<evaluation::Bleu>());
  metrics.push_back(std::make_unique<evaluation::Chrf>(evaluation::ChrfOptions{.word_order = 2}));
  metrics.push_back(std::make_unique<evaluation::Ter>());
  return metrics;
}

TEST(Stop, EndsTheScoringOfManySegments) {
  const std::vector<std::string> hypotheses(200'000, line_of(200, 1));
  const Streams references{std::vector<std::string>(200'000, line_of(200, 2))};
  for (const auto& metric : metrics_to_stop()) {
    SCOPED_TRACE(metric->name());
    for (const auto after : {0ms, 200ms}) {
      expect_stops([&](const std::stop_token& stop) { count_segments(*metric, hypotheses, references, stop); }, after);
      expect_stops(
          [&](const std::stop_token& stop) { corpus_score(*metric, hypotheses, references, std::nullopt, stop); },
          after);
    }
  }
}

TEST(Stop, EndsTheScoringOfOneLongSegment) {
  const std::vector<std::string> reference{line_of(1'000'000, 2)};
  const std::string hypothesis = line_of(1'000'000, 1);
  for (const auto& metric : metrics_to_stop()) {
    SCOPED_TRACE(metric->name());
    expect_stops([&](const std::stop_token& stop) { sentence_score(*metric, hypothesis, reference, stop); }, 200ms);
  }
}

TEST(Stop, EndsTests) {
  const evaluation::Bleu metric;
  const std::vector<std::string> lines(500, "a b c d"), others(500, "a b c e");
  const std::vector<evaluation::SegmentStatistics> systems{count_segments(metric, lines, Streams{lines}),
                                                           count_segments(metric, others, Streams{lines})};
  for (const auto after : {0ms, 200ms}) {
    expect_stops(
        [&](const std::stop_token& stop) { bootstrap_values(metric, systems[0], {.samples = kManySamples}, stop); },
        after);
    expect_stops(
        [&](const std::stop_token& stop) {
          paired_bootstrap(metric, systems[0], systems[1], {.samples = kManySamples}, stop);
        },
        after);
    for (const auto test : {evaluation::PairedTest::kBootstrap, evaluation::PairedTest::kApproximateRandomization})
      expect_stops(
          [&](const std::stop_token& stop) {
            paired_test(metric, systems, {.test = test, .samples = kManySamples}, stop);
          },
          after);
  }
}

TEST(Stop, EndsPairwiseScores) {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 5000; ++i) texts.push_back(line_of(200, i));
  for (const auto& metric : metrics_to_stop()) {
    SCOPED_TRACE(metric->name());
    expect_stops([&](const std::stop_token& stop) {
      const core::StopScope scope(stop);
      metric->pairwise(texts);
    });
  }
}

}  // namespace
}  // namespace dragoman::testing
