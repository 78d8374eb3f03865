#include "dragoman/decoding/option_table.h"
#include "table_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::decoding {
namespace {

using testing::random_sentences;
using testing::TableModel;
using TokenIds = std::vector<std::int32_t>;

constexpr std::int32_t kSixTokens = 6;
constexpr std::int32_t kModelEnd = TableModel::kEnd;

struct CutTranslation {
  TokenIds tokens;
  double score = 0;
};

/// All translations of a search that cuts at `longest` tokens, best first, listed without a search.
std::vector<CutTranslation> list_all(const TableModel& model, const TokenIds& source, std::size_t longest,
                                     double alpha) {
  std::vector<CutTranslation> found;
  const std::function<void(const TokenIds&, double)> visit = [&](const TokenIds& tokens, double sum) {
    const auto next = model.distribution(source, tokens);
    const double length = std::pow(static_cast<double>(tokens.size() + 1), alpha);
    for (std::int32_t token = 0; token < kSixTokens; ++token) {
      const double total = sum + next[static_cast<std::size_t>(token)];
      TokenIds longer = tokens;
      if (token != kModelEnd) longer.push_back(token);
      if (token == kModelEnd || longer.size() == longest)
        found.push_back({longer, total / length});
      else
        visit(longer, total);
    }
  };
  visit({}, 0);
  std::ranges::sort(found, std::greater<>(), &CutTranslation::score);
  return found;
}

TEST(CutAtMaximum, EqualsAListOfAllTranslations) {
  constexpr std::int32_t kCutLength = 3;
  TableModel model({.vocabulary = kSixTokens});
  const auto sentences = random_sentences(6, 5);
  const auto found = decode_all(model, sentences,
                                {.beam_size = 1000,
                                 .n_best = 5,
                                 .length_penalty = LengthPenalty::ct2(0.7),
                                 .maximum_length = kCutLength,
                                 .cut_at_maximum = true});
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto all = list_all(model, sentences[i].source, kCutLength, 0.7);
    ASSERT_EQ(found[i].size(), 5U);
    for (std::size_t n = 0; n < found[i].size(); ++n) {
      EXPECT_EQ(found[i][n].tokens, all[n].tokens);
      EXPECT_NEAR(found[i][n].score, all[n].score, 1e-12);
      const bool cut = found[i][n].stopped_by == StoppedBy::kLength;
      EXPECT_EQ(found[i][n].end, cut ? -1 : kModelEnd);
      EXPECT_EQ(found[i][n].token_log_probabilities.size(), all[n].tokens.size() + (cut ? 0 : 1));
    }
  }
}

TEST(CutAtMaximum, GreedyAndSamplesTakeNoFurtherStep) {
  TableModel model({.vocabulary = kSixTokens, .end_bias = -3});
  const auto sentences = random_sentences(10, 5);
  for (const char* strategy : {"greedy", "sampling"}) {
    DecodingOptions options{.strategy = strategy, .maximum_length = 4};
    const auto with_end = decode_all(model, sentences, options);
    options.cut_at_maximum = true;
    const auto cut = decode_all(model, sentences, options);
    int longest = 0;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      EXPECT_EQ(cut[i][0].tokens, with_end[i][0].tokens);
      if (cut[i][0].tokens.size() < 4) continue;
      ++longest;
      EXPECT_EQ(cut[i][0].stopped_by, StoppedBy::kLength);
      EXPECT_EQ(cut[i][0].token_log_probabilities.size(), 4U);
    }
    EXPECT_GT(longest, 3) << strategy;
  }
}

class TargetPrefixes : public ::testing::Test {
 protected:
  TargetPrefixes() {
    for (Sentence& sentence : sentences_) sentence.target_prefix = {3, 4};
  }
  std::vector<std::vector<Hypothesis>> search(PrefixRole role, double alpha) {
    return decode_all(model_, sentences_,
                      {.beam_size = 3, .n_best = 3, .length_penalty = LengthPenalty::ct2(alpha), .prefix_role = role});
  }

  TableModel model_{{.vocabulary = kSixTokens, .end_bias = 1}};
  std::vector<Sentence> sentences_ = random_sentences(40, 5);
};

TEST_F(TargetPrefixes, CountAsTheirRoleSays) {
  for (const PrefixRole role : {PrefixRole::kScored, PrefixRole::kGiven, PrefixRole::kContext}) {
    const auto found = search(role, 1);
    for (std::size_t i = 0; i < sentences_.size(); ++i)
      for (const Hypothesis& hypothesis : found[i]) {
        double sum = 0;
        for (std::size_t t = 0; t <= hypothesis.tokens.size(); ++t) {
          if (t == hypothesis.tokens.size() && hypothesis.end < 0) continue;
          const auto next = model_.distribution(
              sentences_[i].source, {hypothesis.tokens.begin(), hypothesis.tokens.begin() + static_cast<long>(t)});
          const std::int32_t token = t == hypothesis.tokens.size() ? hypothesis.end : hypothesis.tokens[t];
          const double expected = t < 2 && role != PrefixRole::kScored ? 0 : next[static_cast<std::size_t>(token)];
          EXPECT_NEAR(hypothesis.token_log_probabilities[t], expected, 1e-12);
          sum += expected;
        }
        const double length = static_cast<double>(hypothesis.token_log_probabilities.size());
        EXPECT_NEAR(hypothesis.score, sum / (role == PrefixRole::kContext ? length - 2 : length), 1e-12);
      }
  }
}

TEST_F(TargetPrefixes, EndAtOnceOnlyAsTheBestCandidate) {
  int others = 0;
  const auto context = search(PrefixRole::kContext, 0);
  const auto given = search(PrefixRole::kGiven, 0);
  for (std::size_t i = 0; i < sentences_.size(); ++i) {
    const auto next = model_.distribution(sentences_[i].source, {3, 4});
    const bool is_best = std::ranges::max_element(next) - next.begin() == kModelEnd;
    const auto ends_at_once = [](const std::vector<Hypothesis>& all) {
      return std::ranges::any_of(all, [](const Hypothesis& h) { return h.tokens.size() == 2; });
    };
    EXPECT_TRUE(is_best || !ends_at_once(given[i]));
    others += !is_best && ends_at_once(context[i]) ? 1 : 0;
  }
  EXPECT_GT(others, 3);
}

TEST(Ends, ReplaceTheEndOfTheModel) {
  TableModel model({.vocabulary = kSixTokens, .end_bias = 1});
  const auto sentences = random_sentences(20, 5);
  int inside = 0;
  for (const char* strategy : {"greedy", "beam", "sampling"})
    for (const auto& results : decode_all(
             model, sentences, {.strategy = strategy, .minimum_length = 2, .maximum_length = 12, .ends = {3, 4}})) {
      const Hypothesis& best = results.front();
      EXPECT_EQ(std::ranges::count(best.tokens, 3) + std::ranges::count(best.tokens, 4), 0);
      EXPECT_GE(best.tokens.size(), 2U);
      inside += std::ranges::count(best.tokens, kModelEnd) > 0 ? 1 : 0;
      if (best.stopped_by != StoppedBy::kEnd) continue;
      EXPECT_TRUE(best.end == 3 || best.end == 4);
    }
  EXPECT_GT(inside, 5);
}

TEST(Ends, AreRefusedInAPrefixAndTheEndOfTheModelIsNot) {
  TableModel model({.vocabulary = kSixTokens});
  auto sentences = random_sentences(1, 5);
  sentences.front().target_prefix = {kModelEnd};
  const DecodingOptions options{.strategy = "greedy", .maximum_length = 3, .ends = {3}};
  EXPECT_EQ(decode_all(model, sentences, options).front().front().tokens.front(), kModelEnd);
  sentences.front().target_prefix = {3};
  EXPECT_THROW(decode_all(model, sentences, options), core::Error);
}

TEST(SearchOptions, NameThePrefixRoleTheCutAndTheEnds) {
  const core::Json json{{"prefix_role", "given"}, {"cut_at_maximum", true}, {"end_tokens", {3, 4}}};
  core::OptionReader reader(json, "options");
  Search said;
  search_table().read(reader, said);
  reader.finish();
  const DecodingOptions options = resolve({&said});
  EXPECT_EQ(options.prefix_role, PrefixRole::kGiven);
  EXPECT_TRUE(options.cut_at_maximum);
  EXPECT_EQ(options.ends, (TokenIds{3, 4}));
  EXPECT_EQ(search_of(options).end_tokens, said.end_tokens);
  core::Json written = core::Json::object();
  search_table().write(said, written);
  EXPECT_EQ(written, json);
  const Search wrong{.prefix_role = "none"};
  EXPECT_THROW(resolve({&wrong}), core::Error);
}

TEST(Patience, AllowsMoreResultsThanTheBeamIsWide) {
  TableModel model({.vocabulary = kSixTokens, .end_bias = 1});
  const auto found = decode_all(model, random_sentences(5, 5), {.beam_size = 4, .n_best = 8, .patience = 2});
  for (const auto& results : found) EXPECT_EQ(results.size(), 8U);
}

}  // namespace
}  // namespace dragoman::decoding
