#include "evaluation/numpy_random.h"
#include "golden.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/evaluation/bootstrap.h>

namespace dragoman::testing {
namespace {

using evaluation::BootstrapOptions;

std::unique_ptr<evaluation::Metric> metric_named(const std::string& name) {
  return make_metric(name, core::Json::object());
}

/// The text that the next resample stands for, line by line.
std::vector<std::uint32_t> next_draws(evaluation::NumpyRandom& random, std::uint32_t size) {
  std::vector<std::uint32_t> draws(size);
  for (std::uint32_t& draw : draws) draw = random.below(size);
  return draws;
}

std::vector<std::string> drawn_lines(const std::vector<std::string>& lines, const std::vector<std::uint32_t>& draws) {
  std::vector<std::string> drawn;
  for (const std::uint32_t draw : draws) drawn.push_back(lines[draw]);
  return drawn;
}

TEST(Bootstrap, a_resample_scores_like_the_text_of_the_drawn_lines) {
  for (const std::string name : {"bleu", "chrf", "ter"}) {
    const auto metric = metric_named(name);
    const auto values =
        bootstrap_values(*metric, count_segments(*metric, hypotheses(), references(2)), {.samples = 5, .seed = 7});
    ASSERT_EQ(values.size(), 5);
    evaluation::NumpyRandom random(7);
    for (const double value : values) {
      const auto draws = next_draws(random, static_cast<std::uint32_t>(hypotheses().size()));
      const Streams drawn{drawn_lines(references(2)[0], draws), drawn_lines(references(2)[1], draws)};
      EXPECT_DOUBLE_EQ(value, corpus_score(*metric, drawn_lines(hypotheses(), draws), drawn).value) << name;
    }
  }
}

TEST(Bootstrap, intervals_are_cut_as_sacrebleu_cuts_them) {
  for (const core::Json& expected : expected()["confidence"]) {
    const auto confidence = evaluation::confidence_interval(expected["values"].get<std::vector<double>>());
    EXPECT_DOUBLE_EQ(confidence.mean, expected["mean"].get<double>());
    EXPECT_DOUBLE_EQ(confidence.half_width, expected["half_width"].get<double>());
  }
}

/// SacreBLEU computes in single precision what we do in double.
TEST(Bootstrap, gives_the_interval_and_the_signature_of_sacrebleu) {
  for (const core::Json& expected : expected()["bootstrap"]) {
    SCOPED_TRACE(expected.dump());
    const auto metric = metric_named(expected["metric"]);
    const BootstrapOptions options{.samples = expected["samples"]};
    const auto score = corpus_score(*metric, hypotheses(), references(1), options);
    ASSERT_TRUE(score.confidence.has_value());
    EXPECT_NEAR(score.confidence->mean, expected["mean"].get<double>(), 1e-4);
    EXPECT_NEAR(score.confidence->half_width, expected["half_width"].get<double>(), 1e-4);
    EXPECT_EQ(score.signature, with_our_version(expected["signature"], score));
  }
}

TEST(Bootstrap, the_seed_decides_the_result) {
  const auto metric = metric_named("bleu");
  const auto statistics = count_segments(*metric, hypotheses(), references(1));
  const BootstrapOptions options{.samples = 20, .seed = 1};
  EXPECT_EQ(bootstrap_values(*metric, statistics, options), bootstrap_values(*metric, statistics, options));
  EXPECT_NE(bootstrap_values(*metric, statistics, options),
            bootstrap_values(*metric, statistics, {.samples = 20, .seed = 2}));
}

TEST(Bootstrap, a_score_prints_its_interval) {
  const evaluation::Score score{.name = "TER",
                                .value = 34.46,
                                .signature = "nrefs:1",
                                .details = "",
                                .confidence = evaluation::Confidence{34.41, 1.25}};
  EXPECT_EQ(score.number(1), "34.5 (μ = 34.4 ± 1.2)");
  EXPECT_EQ(score.text(2), "TER|nrefs:1 = 34.46 (μ = 34.41 ± 1.25)");
}

TEST(PairedBootstrap, a_system_does_not_differ_from_itself) {
  const auto metric = metric_named("chrf");
  const auto statistics = count_segments(*metric, hypotheses(), references(1));
  // No resample's difference exceeds zero; the one that is added keeps p from being 0.
  EXPECT_DOUBLE_EQ(paired_bootstrap(*metric, statistics, statistics, {.samples = 99}), 0.01);
}

TEST(PairedBootstrap, tells_a_clear_difference_from_a_small_one) {
  const auto metric = metric_named("bleu");
  const std::vector<std::string> reference = references(1)[0];
  std::vector<std::string> one_line_worse = reference;
  one_line_worse[0] = "something else";
  const auto perfect = count_segments(*metric, reference, references(1));
  const auto clearly_worse = count_segments(*metric, hypotheses(), references(1));
  const auto slightly_worse = count_segments(*metric, one_line_worse, references(1));
  const BootstrapOptions options{.samples = 500};
  EXPECT_LT(paired_bootstrap(*metric, perfect, clearly_worse, options), 0.01);
  EXPECT_GT(paired_bootstrap(*metric, perfect, slightly_worse, options), 0.1);
  EXPECT_DOUBLE_EQ(paired_bootstrap(*metric, perfect, slightly_worse, options),
                   paired_bootstrap(*metric, slightly_worse, perfect, options));
}

TEST(PairedBootstrap, refuses_statistics_of_different_segments) {
  const auto metric = metric_named("bleu");
  const auto all = count_segments(*metric, hypotheses(), references(1));
  const std::vector<std::string> line{"one"};
  const auto one = count_segments(*metric, line, Streams{line});
  EXPECT_THROW(paired_bootstrap(*metric, all, one), core::Error);
}

TEST(Bootstrap, needs_a_sample) {
  const auto metric = metric_named("bleu");
  const auto statistics = count_segments(*metric, hypotheses(), references(1));
  EXPECT_THROW(bootstrap_values(*metric, statistics, {.samples = 0}), core::Error);
  EXPECT_THROW(evaluation::confidence_interval({}), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
