#include "small_model.h"
#include "table_model.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/model_stepper.h>

namespace dragoman::decoding {
namespace {

using testing::exhaustive_search;
using testing::random_sentences;
using testing::TableModel;
using Tokens = std::vector<std::int32_t>;

/// Token 4 continues a word, all others begin one.
class FourContinues final : public WordBoundaries {
 public:
  bool joined(std::span<const std::int32_t>, std::span<const std::int32_t> after) const override {
    return after.front() == 4;
  }
};

Constraint one_form(Tokens tokens) {
  return {{{std::move(tokens), false}}};
}

/// Straight from the definition.
bool stands_at(const Tokens& tokens, std::size_t begin, const Constraint::Form& form, const WordBoundaries* words) {
  const std::size_t end = begin + form.tokens.size();
  if (form.first_only && begin > 0) return false;
  if (end > tokens.size() ||
      !std::equal(form.tokens.begin(), form.tokens.end(), tokens.begin() + std::ptrdiff_t(begin)))
    return false;
  if (words == nullptr) return true;
  const std::span<const std::int32_t> all(tokens);
  return (begin == 0 || !words->joined(all.subspan(begin - 1, 1), form.tokens)) &&
         (end == tokens.size() || !words->joined(form.tokens, all.subspan(end, 1)));
}

bool holds(const Tokens& tokens, const Constraint& constraint, const WordBoundaries* words = nullptr) {
  for (const Constraint::Form& form : constraint.forms)
    for (std::size_t begin = 0; begin < tokens.size(); ++begin)
      if (stands_at(tokens, begin, form, words)) return true;
  return false;
}

bool holds_all(const Tokens& tokens, const Sentence& sentence) {
  return std::ranges::all_of(sentence.constraints, [&](const Constraint& constraint) {
    return holds(tokens, constraint, sentence.boundaries.get());
  });
}

std::vector<Sentence> constrained(std::size_t count, std::vector<Constraint> constraints, std::uint64_t seed = 7,
                                  bool words = false) {
  std::vector<Sentence> sentences = random_sentences(count, 4, seed);
  for (Sentence& sentence : sentences) {
    sentence.constraints = constraints;
    if (words) sentence.boundaries = std::make_shared<FourContinues>();
  }
  return sentences;
}

const std::vector<std::vector<Constraint>>& examples() {
  static const std::vector<std::vector<Constraint>> all = {
      {one_form({3})},
      {one_form({3, 0})},
      {one_form({3, 0, 1})},
      {one_form({1}), one_form({4, 3})},
      {one_form({3, 3, 0})},                                 // a wrong beginning holds the right one
      {{{{{3, 0}, false}, {{4}, false}}}},                   // one form or the other
      {{{{{3, 0}, true}, {{1, 1}, false}}}, one_form({0})},  // the first one in front only
      {one_form({0, 1}), one_form({0, 3})},                  // both begin alike
      {one_form({4, 4}), one_form({1}), one_form({3})},      // all that there is room for
  };
  return all;
}

class ConstrainedPresets : public ::testing::TestWithParam<std::string> {};

/// With a beam that holds everything, the best translations that hold the constraints, of all that there are.
TEST_P(ConstrainedPresets, FindTheBestThatHoldsThemAll) {
  constexpr std::int32_t kMaxTokens = 4;
  int with_words = 0;
  for (std::size_t example = 0; example < examples().size(); ++example)
    for (const bool words : {false, true}) {
      TableModel model({.seed = example + 1});
      const auto sentences = constrained(2, examples()[example], example + 1, words);
      for (const double coverage : {0.0, 0.4}) {
        const DecodingOptions options{.beam_size = 3000,
                                      .n_best = 5,
                                      .length_penalty = LengthPenalty::preset(GetParam(), 0.8),
                                      .coverage_penalty = coverage,
                                      .maximum_length = kMaxTokens};
        const auto found = decode_all(model, sentences, options);
        for (std::size_t i = 0; i < sentences.size(); ++i) {
          auto all = exhaustive_search(model, sentences[i].source, kMaxTokens, options);
          std::erase_if(all, [&](const Hypothesis& h) { return !holds_all(h.tokens, sentences[i]); });
          if (all.empty()) {
            EXPECT_FALSE(found[i][0].unmet.empty());
            continue;
          }
          ASSERT_EQ(found[i].size(), std::min<std::size_t>(5, all.size())) << "example " << example;
          for (std::size_t n = 0; n < found[i].size(); ++n) {
            EXPECT_EQ(found[i][n].tokens, all[n].tokens) << "example " << example << ", place " << n;
            EXPECT_NEAR(found[i][n].score, all[n].score, 1e-12);
            EXPECT_TRUE(found[i][n].unmet.empty());
          }
          with_words += words ? 1 : 0;
        }
      }
    }
  EXPECT_GT(with_words, 30);
}

INSTANTIATE_TEST_SUITE_P(Presets, ConstrainedPresets, ::testing::Values("fairseq", "gnmt", "marian", "ct2", "none"),
                         [](const auto& preset) { return preset.param; });

TEST(Constraints, MayShareTokens) {
  TableModel model({});
  const auto sentences = constrained(5, {one_form({0, 1}), one_form({1, 3})});
  const auto found = decode_all(model, sentences, {.beam_size = 3000, .n_best = 300, .maximum_length = 4});
  for (const auto& hypotheses : found) {
    EXPECT_EQ(std::ranges::count(hypotheses, Tokens{0, 1, 3}, &Hypothesis::tokens), 1);
    for (const Hypothesis& hypothesis : hypotheses) EXPECT_TRUE(holds_all(hypothesis.tokens, sentences[0]));
  }
  const auto twice = decode_all(model, constrained(5, {one_form({0}), one_form({0})}),
                                {.beam_size = 3000, .n_best = 300, .maximum_length = 3});
  for (const auto& hypotheses : twice) EXPECT_EQ(std::ranges::count(hypotheses, Tokens{0}, &Hypothesis::tokens), 1);
}

TEST(Constraints, AreMetByEveryResultWhateverTheBeam) {
  for (const std::int32_t beam_size : {2, 3, 4, 8})
    for (const char* preset : {"fairseq", "gnmt", "marian", "ct2", "none"})
      for (const bool words : {false, true}) {
        TableModel model({.seed = 5, .vocabulary = 12, .end_bias = 1});
        const std::vector<Constraint> constraints = {one_form({7, 8, 9}), one_form({10}), one_form({11, 4, 4})};
        const auto sentences = constrained(12, constraints, 3, words);
        const auto found =
            decode_all(model, sentences,
                       {.beam_size = beam_size, .n_best = beam_size, .length_penalty = LengthPenalty::preset(preset)});
        for (std::size_t i = 0; i < sentences.size(); ++i)
          for (const Hypothesis& hypothesis : found[i]) {
            EXPECT_TRUE(hypothesis.unmet.empty());
            EXPECT_TRUE(holds_all(hypothesis.tokens, sentences[i])) << preset << " " << beam_size;
          }
      }
}

/// A wider beam finds better ones, and all are as probable as the model says.
TEST(Constraints, CostWhatTheModelSays) {
  TableModel model({.seed = 9, .vocabulary = 12, .end_bias = 1});
  const auto sentences = constrained(40, {one_form({7, 8}), one_form({10})});
  double narrow = 0, wide = 0;
  for (const std::int32_t beam_size : {3, 40}) {
    const auto found = decode_all(model, sentences, {.beam_size = beam_size});
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const Hypothesis& best = found[i][0];
      Tokens before;
      double sum = 0;
      for (std::size_t t = 0; t < best.token_log_probabilities.size(); ++t) {
        const std::int32_t token = t < best.tokens.size() ? best.tokens[t] : TableModel::kEnd;
        const double expected = model.distribution(sentences[i].source, before)[static_cast<std::size_t>(token)];
        EXPECT_NEAR(best.token_log_probabilities[t], expected, 1e-12);
        sum += expected;
        before.push_back(token);
      }
      EXPECT_NEAR(best.log_probability, sum, 1e-12);
      (beam_size == 3 ? narrow : wide) += best.score;
    }
  }
  EXPECT_GT(wide, narrow);
}

TEST(Constraints, ThatThePrefixMeetsAskForNothingMore) {
  TableModel model({.vocabulary = 9});
  auto sentences = constrained(10, {one_form({7, 8})});
  for (Sentence& sentence : sentences) sentence.target_prefix = {3, 7, 8, 5};
  auto free = sentences;
  for (Sentence& sentence : free) sentence.constraints.clear();
  const DecodingOptions wide{.beam_size = 500, .length_penalty = LengthPenalty::none(), .maximum_length = 7};
  const auto found = decode_all(model, sentences, wide);
  const auto expected = decode_all(model, free, wide);
  for (std::size_t i = 0; i < sentences.size(); ++i) EXPECT_EQ(found[i][0].tokens, expected[i][0].tokens);
}

TEST(Constraints, ThatLengthMakesImpossibleAreReported) {
  TableModel model({.vocabulary = 12, .end_bias = -2});
  const std::vector<Constraint> constraints = {one_form({7, 8, 9}), one_form({10}), one_form({11, 3})};
  // Six tokens have room in six, and not in five.
  for (const auto& [longest, expected] : {std::pair{6, true}, {5, false}}) {
    const auto found = decode_all(model, constrained(10, constraints), {.beam_size = 4, .maximum_length = longest});
    for (const auto& hypotheses : found) {
      const Hypothesis& best = hypotheses[0];
      EXPECT_LE(best.tokens.size(), static_cast<std::size_t>(longest));
      EXPECT_EQ(best.unmet.empty(), expected);
      for (std::size_t c = 0; c < constraints.size(); ++c)
        EXPECT_EQ(std::ranges::count(best.unmet, static_cast<std::int32_t>(c)) == 0,
                  holds(best.tokens, constraints[c]));
    }
  }
  // What is suppressed cannot come out either.
  const auto found = decode_all(model, constrained(5, constraints), {.beam_size = 4, .suppressed = {{10}}});
  for (const auto& hypotheses : found) EXPECT_EQ(hypotheses[0].unmet, (Tokens{1}));
}

TEST(Constraints, AreRefusedByOtherSearches) {
  TableModel model({});
  const auto sentences = constrained(1, {one_form({3})});
  EXPECT_THROW(decode_all(model, sentences, {.strategy = "greedy"}), core::Error);
  EXPECT_THROW(decode_all(model, sentences, {.strategy = "sampling"}), core::Error);
  EXPECT_THROW(decode_all(model, sentences, {.beam_size = 1}), core::Error);
  for (const Tokens& wrong : {Tokens{}, Tokens{TableModel::kEnd}, Tokens{5}, Tokens{-1}})
    EXPECT_THROW(decode_all(model, constrained(1, {one_form(wrong)}), DecodingOptions{}), core::Error);
  EXPECT_THROW(decode_all(model, constrained(1, {Constraint{}}), DecodingOptions{}), core::Error);
}

/// Sentences with all sorts of constraints, with and without, alone and together, on a model with real steps.
TEST(Constraints, ResultsDoNotDependOnCompany) {
  testing::SmallModel small;
  auto sentences = testing::small_sentences(24, 6);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    for (std::size_t c = 0; c < i % 4; ++c) {
      Tokens tokens;
      for (std::size_t t = 0; t <= (i + c) % 3; ++t)
        tokens.push_back(3 +
                         static_cast<std::int32_t>(core::random_below(testing::SmallModel::kVocabulary - 3, i, c, t)));
      sentences[i].constraints.push_back(one_form(tokens));
    }
    if (i % 5 == 1) sentences[i].target_prefix = {5, 6};
  }
  const DecodingOptions options{.beam_size = 4, .n_best = 3};
  ModelStepper stepper(small.model(), small.context());
  const auto together = decode_all(stepper, sentences, options, {.maximum_rows = 1000, .maximum_encoder_tokens = 1000});
  testing::expect_same(together, decode_all(stepper, sentences, options, {.maximum_rows = 9}));
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    testing::expect_same({together[i]}, decode_all(stepper, {sentences[i]}, options));
    for (const Hypothesis& hypothesis : together[i]) {
      EXPECT_TRUE(holds_all(hypothesis.tokens, sentences[i]));
      testing::expect_full_pass(small, sentences[i], hypothesis);
    }
  }
}

}  // namespace
}  // namespace dragoman::decoding
