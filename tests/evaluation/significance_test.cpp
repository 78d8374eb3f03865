#include "evaluation/numpy_random.h"
#include "golden.h"

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/evaluation/significance.h>

namespace dragoman::testing {
namespace {

using evaluation::NumpyRandom;
using evaluation::PairedResult;
using evaluation::SegmentStatistics;

/// paired.json: what sacreBLEU and numpy said, see golden/make_paired.py.
const core::Json& paired_golden() {
  static const core::Json json = core::load_json(golden_file("paired.json").string());
  return json;
}

/// The texts that make_paired.py makes.
std::vector<std::string> made_system(std::size_t every) {
  std::vector<std::string> lines = hypotheses();
  for (std::size_t i = 0; every > 0 && i < lines.size(); ++i) {
    if (i % every == 0) lines[i] = references(1)[0][i];
    if (i % every != 1) continue;
    std::size_t end = std::string::npos;
    for (std::size_t at = 0, words = 0; words < 3 && at != std::string::npos; ++words) {
      end = lines[i].find(' ', at);
      at = end == std::string::npos ? end : end + 1;
    }
    lines[i] = lines[i].substr(0, end);
  }
  return lines;
}

std::string without_version(const std::string& signature) {
  return signature.substr(0, signature.rfind('|'));
}

std::unique_ptr<evaluation::Metric> metric_of(const std::string& name) {
  if (name == "chrF2++") return make_metric("chrf", {{"word_order", 2}});
  return make_metric(name == "BLEU" ? "bleu" : "ter", core::Json::object());
}

std::vector<SegmentStatistics> count_all(const evaluation::Metric& metric, const core::Json& systems,
                                         std::size_t reference_count) {
  std::vector<SegmentStatistics> counted;
  for (const core::Json& every : systems)
    counted.push_back(count_segments(metric, made_system(every.get<std::size_t>()), references(reference_count)));
  return counted;
}

TEST(NumpyRandom, draws_what_numpy_draws) {
  for (const core::Json& expected : paired_golden()["draws"]) {
    SCOPED_TRACE(expected["seed"].dump());
    NumpyRandom random(expected["seed"].get<std::uint64_t>());
    const auto expect_draws = [&](std::uint32_t bound, const core::Json& draws) {
      for (const core::Json& draw : draws) EXPECT_EQ(random.below(bound), draw.get<std::uint32_t>()) << bound;
    };
    for (const core::Json& part : expected["below"]) expect_draws(part[0].get<std::uint32_t>(), part[1]);
    NumpyRandom::Coins coins(random);
    for (const core::Json& coin : expected["coins"]) EXPECT_EQ(coins.toss(), coin == 1);
    expect_draws(100, expected["after"]);
  }
}

TEST(PairedTest, gives_the_scores_and_p_values_of_sacrebleu) {
  for (const core::Json& expected : paired_golden()["paired"]) {
    const bool bootstrap = expected["test"] == "bs";
    for (const auto& [name, of_systems] : expected["results"].items()) {
      SCOPED_TRACE(expected["test"].dump() + " " + name + " seed " + expected["seed"].dump());
      const auto metric = metric_of(name);
      const auto counted = count_all(*metric, expected["systems"], expected["references"].get<std::size_t>());
      const evaluation::PairedOptions options{
          .test = bootstrap ? evaluation::PairedTest::kBootstrap : evaluation::PairedTest::kApproximateRandomization,
          .samples = expected["samples"].get<std::uint32_t>(),
          .seed = expected["seed"].get<std::uint64_t>()};
      const std::vector<PairedResult> results = paired_test(*metric, counted, options);
      const std::string signature = paired_signature(*metric, counted.front().reference_count(), options);
      EXPECT_EQ(without_version(signature), without_version(expected["signatures"][name]));
      ASSERT_EQ(results.size(), of_systems.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const core::Json& wanted = of_systems[i];
        EXPECT_NEAR(results[i].score, wanted["score"].get<double>(), 1e-9);
        ASSERT_EQ(results[i].p_value.has_value(), wanted.contains("p_value"));
        if (results[i].p_value) {
          EXPECT_DOUBLE_EQ(*results[i].p_value, wanted["p_value"].get<double>()) << i;
        }
        ASSERT_EQ(results[i].confidence.has_value(), bootstrap);
        if (!bootstrap) continue;
        // SacreBLEU computes scores of resamples in single precision.
        EXPECT_NEAR(results[i].confidence->mean, wanted["mean"].get<double>(), 1e-4);
        EXPECT_NEAR(results[i].confidence->half_width, wanted["ci"].get<double>(), 1e-4);
      }
    }
  }
}

/// With one segment the coin leaves the two scores apart as they are, on whichever side.
TEST(PairedTest, chance_makes_no_difference_of_one_segment_larger) {
  const auto metric = metric_of("TER");
  const std::vector<std::string> one{"a b c d"}, other{"a b c e"};
  const Streams reference{{"a b c d"}};
  const std::vector<SegmentStatistics> systems{count_segments(*metric, one, reference),
                                               count_segments(*metric, other, reference)};
  const auto results = paired_test(
      *metric, systems, {.test = evaluation::PairedTest::kApproximateRandomization, .samples = 99, .seed = 3});
  EXPECT_DOUBLE_EQ(*results[1].p_value, 0.01);
}

TEST(PairedTest, refuses_what_cannot_be_paired) {
  const auto metric = metric_of("BLEU");
  const std::vector<std::string> line{"one"};
  const std::vector<SegmentStatistics> alone{count_segments(*metric, line, Streams{line})};
  EXPECT_THROW(paired_test(*metric, alone), core::Error);
  const std::vector<std::string> lines{"one", "two"};
  const std::vector<SegmentStatistics> unequal{alone.front(), count_segments(*metric, lines, Streams{lines})};
  EXPECT_THROW(paired_test(*metric, unequal), core::Error);
  const std::vector<SegmentStatistics> equal{alone.front(), alone.front()};
  EXPECT_THROW(paired_test(*metric, equal, {.samples = 0}), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
