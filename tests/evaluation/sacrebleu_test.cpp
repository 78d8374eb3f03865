#include "golden.h"

#include <gtest/gtest.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using evaluation::Score;

void expect_same_text(const Score& score, const core::Json& texts, std::initializer_list<int> decimals) {
  auto text = texts.begin();
  for (const int places : decimals)
    EXPECT_EQ(score.text(places), with_our_version((text++)->get<std::string>(), score));
}

/// Equal but for the order in which a compiler may round.
void expect_same_value(double ours, double theirs) {
  EXPECT_NEAR(ours, theirs, 1e-12 * std::max(1.0, std::fabs(theirs)));
}

TEST(SacreBleu, corpus_scores_are_equal_to_the_last_digit_for_every_option) {
  for (const core::Json& expected : expected()["corpus"]) {
    SCOPED_TRACE(expected.dump());
    const auto metric = make_metric(expected["metric"], expected["options"]);
    const Score score = corpus_score(*metric, hypotheses(), references(expected["references"]));
    expect_same_text(score, expected["text"], {1, 2, 6});
    expect_same_value(score.value, expected["value"]);
  }
}

TEST(SacreBleu, counts_of_every_segment_are_equal) {
  for (const core::Json& expected : expected()["segments"]) {
    SCOPED_TRACE(expected["metric"].dump() + expected["options"].dump());
    const auto metric = make_metric(expected["metric"], expected["options"]);
    const auto statistics = count_segments(*metric, hypotheses(), references(expected["references"]));
    ASSERT_EQ(statistics.segments(), expected["counts"].size());
    for (std::size_t i = 0; i < statistics.segments(); ++i) {
      const auto row = statistics.row(i);
      EXPECT_EQ(std::vector<double>(row.begin(), row.end()), expected["counts"][i].get<std::vector<double>>())
          << hypotheses()[i];
    }
  }
}

TEST(SacreBleu, ter_edits_are_equal_at_the_limits_of_the_search_and_where_shifts_compete) {
  for (const core::Json& expected : expected()["shifts"]) {
    const auto hypotheses = expected["hypotheses"].get<std::vector<std::string>>();
    const auto streams = expected["streams"].get<Streams>();
    const auto statistics = count_segments(evaluation::Ter(), hypotheses, streams);
    ASSERT_EQ(statistics.segments(), expected["counts"].size());
    for (std::size_t i = 0; i < statistics.segments(); ++i)
      EXPECT_EQ(statistics.row(i)[0], expected["counts"][i][0].get<double>()) << hypotheses[i] << "\n" << streams[0][i];
  }
}

TEST(SacreBleu, sentence_scores_are_equal) {
  for (const core::Json& expected : expected()["segments"]) {
    SCOPED_TRACE(expected["metric"].dump() + expected["options"].dump());
    const auto metric = make_metric(expected["metric"], expected["options"]);
    const Streams streams = references(expected["references"]);
    for (std::size_t i = 0; i < streams[0].size(); ++i) {
      std::vector<std::string> of_sentence;
      for (const auto& stream : streams) of_sentence.push_back(stream[i]);
      const Score score = sentence_score(*metric, hypotheses()[i], of_sentence);
      const double theirs = expected["scores"][i];  // ten digits
      EXPECT_NEAR(score.value, theirs, 1e-9 * std::max(1.0, theirs)) << hypotheses()[i];
    }
  }
}

TEST(SacreBleu, edges_of_the_formulas_are_equal) {
  for (const core::Json& expected : expected()["edges"]) {
    SCOPED_TRACE(expected.dump());
    const auto metric = make_metric(expected["metric"], expected["options"]);
    const Score score = corpus_score(*metric, expected["hypotheses"].get<std::vector<std::string>>(),
                                     expected["streams"].get<Streams>());
    expect_same_text(score, expected["text"], {2});
    expect_same_value(score.value, expected["value"]);
  }
}

TEST(SacreBleu, convenience_functions_use_sacrebleus_defaults) {
  const auto expect_case = [](const Score& score, const std::string& metric) {
    for (const core::Json& expected : expected()["edges"]) {
      if (expected["metric"] != metric || !expected["options"].empty() || expected["hypotheses"][0] != "a b c x d e f")
        continue;
      EXPECT_EQ(score.text(2), with_our_version(expected["text"][0], score));
      return;
    }
    FAIL() << "the golden file lacks " << metric;
  };
  const std::vector<std::string> hypothesis{"a b c x d e f"};
  const Streams reference{{"a b c y d e f"}};
  expect_case(evaluation::corpus_bleu(hypothesis, reference), "bleu");
  expect_case(evaluation::corpus_chrf(hypothesis, reference), "chrf");
  expect_case(evaluation::corpus_ter(hypothesis, reference), "ter");
}

}  // namespace
}  // namespace dragoman::testing
