#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/decoding/hypothesis.h>
#include <dragoman/decoding/length_penalty.h>
#include <dragoman/decoding/options.h>

namespace dragoman::decoding {
namespace {

// A sum of -6 over 3 tokens and the end; computed by hand from the formulas of the cited sources.
TEST(LengthPenalty, PresetsGiveThePublishedScores) {
  EXPECT_DOUBLE_EQ(LengthPenalty::none().score(-6, 3, true), -6);
  EXPECT_DOUBLE_EQ(LengthPenalty::fairseq().score(-6, 3, true), -1.5);   // -6 / 4
  EXPECT_DOUBLE_EQ(LengthPenalty::fairseq(0.5).score(-6, 3, true), -3);  // -6 / sqrt(4)
  // CTranslate2 3.24, 4.4 and 4.8 divide by the length with the end: 1000 of 1000 hypotheses of beam 4 are theirs so.
  EXPECT_DOUBLE_EQ(LengthPenalty::ct2().score(-6, 3, true), -1.5);
  EXPECT_DOUBLE_EQ(LengthPenalty::ct2(2).score(-6, 3, true), -6.0 / 16);
  EXPECT_DOUBLE_EQ(LengthPenalty::gnmt(1).score(-6, 3, true), -4);        // (5 + 4) / 6 = 1.5
  EXPECT_NEAR(LengthPenalty::gnmt().score(-6, 3, true), -4.70432, 5e-6);  // 1.5^0.6 = 1.275424
  EXPECT_DOUBLE_EQ(LengthPenalty::marian().score(-6, 3, true), -6);
  EXPECT_DOUBLE_EQ(LengthPenalty::marian(1).score(-6, 3, true), -1.5);
  EXPECT_DOUBLE_EQ(LengthPenalty::marian(1, 0.5).score(-6, 3, true), -2);  // (-6 - 0.5 * 4) / 4
}

TEST(LengthPenalty, ACutHypothesisHasNoEndToCount) {
  EXPECT_DOUBLE_EQ(LengthPenalty::fairseq().score(-6, 3, false), -2);
  EXPECT_DOUBLE_EQ(LengthPenalty::ct2().score(-6, 3, false), -2);
}

TEST(LengthPenalty, AnEmptyTranslationCountsAsOneToken) {
  EXPECT_DOUBLE_EQ(LengthPenalty::ct2().score(-6, 0, true), -6);
  EXPECT_DOUBLE_EQ(LengthPenalty::fairseq().score(-6, 0, true), -6);
}

TEST(LengthPenalty, NoContinuationExceedsTheBound) {
  for (const LengthPenalty& penalty : {LengthPenalty::none(), LengthPenalty::gnmt(), LengthPenalty::gnmt(-0.5),
                                       LengthPenalty::fairseq(), LengthPenalty::ct2(0.3), LengthPenalty::marian(0, 0.2),
                                       LengthPenalty::marian(0, -0.2), LengthPenalty::marian(1, -3)}) {
    const double bound = penalty.bound(-2, 4, 9);
    for (std::int64_t n = 4; n <= 9; ++n)
      for (const double more : {0.0, 0.5, 3.0}) {
        EXPECT_LE(penalty.score(-2 - more, n, true), bound);
        EXPECT_LE(penalty.score(-2 - more, n, false), bound);
      }
  }
}

TEST(LengthPenalty, PresetsAreFoundByName) {
  EXPECT_EQ(LengthPenalty::preset("gnmt").alpha, 0.6);
  EXPECT_EQ(LengthPenalty::preset("gnmt", 1.0).alpha, 1);
  EXPECT_EQ(LengthPenalty::preset("marian").ended_place, EndedPlace::kClosed);
  EXPECT_EQ(LengthPenalty::preset("ct2").stop, StopRule::kBeamFinished);
  EXPECT_EQ(LengthPenalty::preset("ct2", 0.0).stop, StopRule::kBestEnded);
  EXPECT_EQ(LengthPenalty::preset("transformers", 0.5).stop, StopRule::kOutscored);
  EXPECT_EQ(LengthPenalty::preset("transformers", 0.5).alpha, 0.5);
  try {
    LengthPenalty::preset("fairsec");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("fairseq"), std::string::npos);
  }
}

TEST(Hypothesis, OrderIsScoreThenEarlierThenTokens) {
  const Hypothesis ended{.tokens = {3}, .score = -3, .steps = 1};
  Hypothesis other = ended;
  other.score = -2;
  other.steps = 7;
  EXPECT_TRUE(better(other, ended));
  other = ended;
  other.steps = 2;
  EXPECT_TRUE(better(ended, other));
  other = ended;
  other.tokens = {4};
  EXPECT_TRUE(better(ended, other));
  EXPECT_FALSE(better(other, ended));
  EXPECT_FALSE(better(ended, ended));
}

TEST(DecodingOptions, MaximumLengthFollowsTheSource) {
  const nn::SequenceSpec spec{.source_vocabulary = 9, .target_vocabulary = 9, .maximum_target_length = 40};
  EXPECT_EQ(maximum_target_length({}, spec, 7), 24);  // 2 * 7 + 10
  EXPECT_EQ(maximum_target_length({}, spec, 0), 10);
  EXPECT_EQ(maximum_target_length({}, spec, 30), 39);  // the decoder start takes one of the model's 40 places
  EXPECT_EQ(maximum_target_length({.maximum_length_factor = 1.5, .maximum_length_offset = 0}, spec, 7), 10);
  EXPECT_EQ(maximum_target_length({.maximum_length = 5}, spec, 30), 5);
}

TEST(DecodingOptions, NonsenseIsRefused) {
  const nn::SequenceSpec spec{.source_vocabulary = 9, .target_vocabulary = 9};
  EXPECT_NO_THROW(check({}, spec));
  EXPECT_THROW(check({.beam_size = 0}, spec), core::Error);
  EXPECT_THROW(check({.beam_size = 2, .n_best = 3}, spec), core::Error);
  EXPECT_THROW(check({.strategy = "greedy", .n_best = 2}, spec), core::Error);
  EXPECT_NO_THROW(check({.strategy = "sampling", .beam_size = 1, .n_best = 3}, spec));
  EXPECT_THROW(check({.patience = 0}, spec), core::Error);
  EXPECT_THROW(check({.minimum_length = 6, .maximum_length = 5}, spec), core::Error);
  EXPECT_THROW(check({.suppressed = {{9}}}, spec), core::Error);
  EXPECT_THROW(check({.suppressed = {{}}}, spec), core::Error);
  EXPECT_THROW(check({.sampling = {.temperature = 0}}, spec), core::Error);
  EXPECT_THROW(check({.sampling = {.top_p = 0}}, spec), core::Error);
}

}  // namespace
}  // namespace dragoman::decoding
