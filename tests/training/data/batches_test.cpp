#include "test_names.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/random.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/training/batches.h>

namespace dragoman::training {
namespace {

using ::testing::ElementsAre;

EncodedPairs random_pairs(std::size_t count) {
  EncodedPairs pairs;
  for (std::uint64_t i = 0; i < count; ++i) {
    pairs.source.append(std::vector<std::int32_t>(1 + core::random_below(30, 5, 0, i), 7));
    pairs.target.append(std::vector<std::int32_t>(1 + core::random_below(30, 5, 1, i), 8));
  }
  return pairs;
}

std::vector<std::vector<std::uint32_t>> batches_of(const EpochPlan& plan) {
  std::vector<std::vector<std::uint32_t>> batches;
  for (std::int64_t i = 0; i < plan.batches(); ++i) batches.emplace_back(plan.batch(i).begin(), plan.batch(i).end());
  return batches;
}

class EpochPlanOf : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(EpochPlanOf, EveryPairComesExactlyOnceInBatchesWithinTheLimit) {
  const EncodedPairs pairs = random_pairs(1000);
  const EpochPlan plan(pairs, {.batch_tokens = 100, .bucket_window = GetParam(), .seed = 3}, 4);
  std::multiset<std::uint32_t> seen;
  for (const auto& batch : batches_of(plan)) {
    std::int64_t source = 0;
    std::int64_t target = 0;
    for (const std::uint32_t pair : batch) {
      seen.insert(pair);
      source += pairs.source.length(pair);
      target += pairs.target.length(pair);
    }
    EXPECT_GT(batch.size(), 0U);
    EXPECT_LE(std::max(source, target), 100);
  }
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), 1000U);
}
INSTANTIATE_TEST_SUITE_P(Windows, EpochPlanOf, ::testing::Values(1, 7, 64, 1000, 1000000),
                         dragoman::testing::kParameterName);

TEST(EpochPlan, HasEachPartAsOftenAsItsWeightSays) {
  EncodedPairs pairs = random_pairs(100);
  pairs.parts = {{.end = 40, .weight = 0.25}, {.end = 40, .weight = 7}, {.end = 90, .weight = 2.5}, {.end = 100}};
  const auto times = [&](std::int64_t epoch) {
    std::vector<int> seen(100);
    for (const auto& batch : batches_of(EpochPlan(pairs, {.batch_tokens = 90, .bucket_window = 16, .seed = 5}, epoch)))
      for (const std::uint32_t pair : batch) ++seen[pair];
    return seen;
  };
  std::set<std::vector<int>> epochs;
  std::vector<int> sums(100);
  for (std::int64_t epoch = 0; epoch < 60; ++epoch) {
    const std::vector<int> seen = times(epoch);
    EXPECT_EQ(times(epoch), seen);
    EXPECT_EQ(std::count(seen.begin(), seen.begin() + 40, 1), 10);
    EXPECT_EQ(std::count(seen.begin(), seen.begin() + 40, 0), 30);
    EXPECT_EQ(std::count(seen.begin() + 40, seen.begin() + 90, 2), 25);
    EXPECT_EQ(std::count(seen.begin() + 40, seen.begin() + 90, 3), 25);
    EXPECT_EQ(std::count(seen.begin() + 90, seen.end(), 1), 10);
    epochs.insert(seen);
    for (std::size_t i = 0; i < 100; ++i) sums[i] += seen[i];
  }
  EXPECT_EQ(epochs.size(), 60U);  // others in each epoch
  // Each of a part has its turn: 15 of 60 are expected, 3.4 the deviation.
  for (std::size_t i = 0; i < 40; ++i) EXPECT_NEAR(sums[i], 15, 14) << i;
}

TEST(EpochPlan, IsAFunctionOfSeedAndEpoch) {
  const EncodedPairs pairs = random_pairs(300);
  const auto plan = [&](std::uint64_t seed, std::int64_t epoch) {
    return batches_of(EpochPlan(pairs, {.batch_tokens = 90, .bucket_window = 50, .seed = seed}, epoch));
  };
  EXPECT_EQ(plan(1, 0), plan(1, 0));
  EXPECT_NE(plan(1, 0), plan(1, 1));
  EXPECT_NE(plan(1, 0), plan(2, 0));
}

TEST(EpochPlan, SortedWindowsPutEqualLengthsTogether) {
  const EncodedPairs pairs = random_pairs(2000);
  const auto spread = [&](std::int64_t window) {
    double sum = 0;
    for (const auto& batch : batches_of(EpochPlan(pairs, {.batch_tokens = 150, .bucket_window = window}, 0))) {
      const auto [least, most] =
          std::ranges::minmax_element(batch, {}, [&](std::uint32_t i) { return pairs.source.length(i); });
      sum += pairs.source.length(*most) - pairs.source.length(*least);
    }
    return sum;
  };
  EXPECT_LT(spread(2000) * 10, spread(1));
}

TEST(EpochPlan, BatchesComeInRandomOrderOfLength) {
  const EncodedPairs pairs = random_pairs(2000);
  const EpochPlan plan(pairs, {.batch_tokens = 150, .bucket_window = 2000}, 0);
  std::int64_t rises = 0;
  for (std::int64_t i = 1; i < plan.batches(); ++i)
    rises += pairs.source.length(plan.batch(i)[0]) > pairs.source.length(plan.batch(i - 1)[0]) ? 1 : 0;
  EXPECT_GT(rises, plan.batches() / 4);
  EXPECT_LT(rises, plan.batches() * 3 / 4);
}

TEST(EpochPlan, APairBeyondTheLimitStandsAlone) {
  EncodedPairs pairs;
  for (const int length : {2, 50, 3}) {
    pairs.source.append(std::vector<std::int32_t>(static_cast<std::size_t>(length), 1));
    pairs.target.append(std::vector<std::int32_t>(2, 1));
  }
  const EpochPlan plan = EpochPlan::in_order_of_length(pairs, 10);
  EXPECT_THAT(batches_of(plan), ElementsAre(ElementsAre(1), ElementsAre(2, 0)));
}

EncodedPairs two_pairs() {
  EncodedPairs pairs;
  pairs.source.append(std::vector<std::int32_t>{5, 6, 2});
  pairs.target.append(std::vector<std::int32_t>{7, 2});
  pairs.source.append(std::vector<std::int32_t>{8, 2});
  pairs.target.append(std::vector<std::int32_t>{9, 10, 2});
  return pairs;
}

TEST(Batch, ShiftsTheTargetRightBehindTheDecoderStart) {
  const EncodedPairs pairs = two_pairs();
  Batch batch;
  batch.assign(pairs, std::vector<std::uint32_t>{1, 0}, 1);
  EXPECT_THAT(batch.source().tokens, ElementsAre(8, 2, 5, 6, 2));
  EXPECT_THAT(batch.source().offsets, ElementsAre(0, 2, 5));
  EXPECT_THAT(batch.input().tokens, ElementsAre(1, 9, 10, 1, 7));
  EXPECT_THAT(batch.input().offsets, ElementsAre(0, 3, 5));
  EXPECT_THAT(batch.target(), ElementsAre(9, 10, 2, 7, 2));
}

TEST(Batch, IsFilledUpByPairsThatDoNotCount) {
  const EncodedPairs pairs = two_pairs();
  Batch batch;
  batch.assign(pairs, std::vector<std::uint32_t>{1, 0}, 1, 4);
  EXPECT_THAT(batch.source().tokens, ElementsAre(8, 2, 5, 6, 2, 0, 0, 0));
  EXPECT_THAT(batch.source().offsets, ElementsAre(0, 2, 5, 6, 8));
  EXPECT_THAT(batch.input().tokens, ElementsAre(1, 9, 10, 1, 7, 1, 1, 1));
  EXPECT_THAT(batch.input().offsets, ElementsAre(0, 3, 5, 6, 8));
  EXPECT_THAT(batch.target(), ElementsAre(9, 10, 2, 7, 2, ops::kNoTarget, ops::kNoTarget, ops::kNoTarget));
  EXPECT_EQ(batch.target_tokens(), 5);
}

TEST(Batch, FilledUpHasTheShapesOfItsBucketsAndNothingLongerThanBefore) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    EncodedPairs pairs;
    std::vector<std::uint32_t> which;
    const auto length = [&](std::uint64_t side, std::uint64_t pair) {
      return 1 + core::random_below(9, i, side, pair);
    };
    for (std::uint64_t pair = 0; pair <= core::random_below(12, i, 2, 0); ++pair) {
      pairs.source.append(std::vector<std::int32_t>(length(0, pair), 3));
      pairs.target.append(std::vector<std::int32_t>(length(1, pair), 4));
      which.push_back(static_cast<std::uint32_t>(pair));
    }
    const auto bucket = static_cast<std::int64_t>(1 + core::random_below(40, i, 3, 0));
    Batch plain, filled;
    plain.assign(pairs, which, 1);
    filled.assign(pairs, which, 1, bucket);
    ASSERT_EQ(filled.source().total() % bucket, 0) << i;
    ASSERT_EQ(filled.input().total() % bucket, 0) << i;
    ASSERT_EQ(filled.source().batch() % bucket, 0) << i;
    ASSERT_EQ(filled.source().batch(), filled.input().batch()) << i;
    ASSERT_EQ(filled.target_tokens(), plain.target_tokens()) << i;
    ASSERT_EQ(std::ranges::count(filled.target(), ops::kNoTarget), filled.input().total() - plain.input().total()) << i;
    const auto longest = [](const tensor::RaggedTokens& tokens) {
      std::int32_t most = 0;
      for (std::int64_t b = 0; b < tokens.batch(); ++b) most = std::max(most, tokens.length(b));
      return most;
    };
    ASSERT_LE(longest(filled.source()), std::max(longest(plain.source()), 2)) << i;
    ASSERT_LE(longest(filled.input()), std::max(longest(plain.input()), 2)) << i;
    for (std::int64_t b = 0; b < filled.input().batch(); ++b)
      ASSERT_TRUE(filled.input().length(b) > 0 && filled.source().length(b) > 0) << i;
    ASSERT_TRUE(std::ranges::equal(filled.source().tokens.first(plain.source().tokens.size()), plain.source().tokens));
    ASSERT_TRUE(std::ranges::equal(filled.target().first(plain.target().size()), plain.target()));
  }
}

}  // namespace
}  // namespace dragoman::training
