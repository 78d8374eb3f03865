#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/random.h>

namespace dragoman::core {
namespace {

TEST(Philox, GivesThePublishedVectors) {
  // Random123's known-answer tests (kat_vectors), philox4x32 10.
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (RandomBlock{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  constexpr std::uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(philox({kOnes, kOnes}, {kOnes, kOnes, kOnes, kOnes}),
            (RandomBlock{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox({0xA4093822, 0x299F31D0}, {0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}),
            (RandomBlock{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(RandomBlock, PlacesSeedStreamAndIndexInKeyAndCounter) {
  EXPECT_EQ(random_block(0x0000000200000001, 0x0000000600000005, 0x0000000400000003), philox({1, 2}, {3, 4, 5, 6}));
}

TEST(RandomUniform, FillsTheUnitIntervalEvenly) {
  constexpr int kBins = 64;
  constexpr int kDraws = 64000;
  std::vector<int> counts(kBins, 0);
  for (int i = 0; i < kDraws; ++i) {
    const double value = random_uniform(1, 2, static_cast<std::uint64_t>(i));
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++counts[static_cast<std::size_t>(value * kBins)];
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kDraws / kBins, 2) / (kDraws / kBins);
  EXPECT_LT(chi_square, 103.4) << "63 degrees of freedom, probability 0.999";
}

TEST(RandomNormal, HasTheMomentsOfTheNormalDistribution) {
  constexpr int kDraws = 200000;
  double sums[5] = {};
  for (int i = 0; i < kDraws; ++i) {
    const double value = random_normal(3, 4, static_cast<std::uint64_t>(i));
    for (int power = 1; power <= 4; ++power) sums[power] += std::pow(value, power) / kDraws;
  }
  EXPECT_NEAR(sums[1], 0, 0.01);
  EXPECT_NEAR(sums[2], 1, 0.013);
  EXPECT_NEAR(sums[3], 0, 0.035);
  EXPECT_NEAR(sums[4], 3, 0.09);
}

TEST(RandomBelow, IsEvenAndStaysBelowItsBound) {
  std::vector<int> counts(7, 0);
  for (std::uint64_t i = 0; i < 70000; ++i) ++counts.at(random_below(7, 5, 6, i));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  EXPECT_EQ(random_below(1, 5, 6, 7), 0U);
}

TEST(Shuffle, IsAPermutationThatSeedAndStreamDecide) {
  const auto shuffled = [](std::uint64_t seed, std::uint64_t stream) {
    std::vector<std::uint32_t> items(1000);
    std::iota(items.begin(), items.end(), 0U);
    shuffle(items, seed, stream);
    return items;
  };
  const auto one = shuffled(1, 1);
  EXPECT_EQ(one, shuffled(1, 1));
  EXPECT_NE(one, shuffled(1, 2));
  EXPECT_NE(one, shuffled(2, 1));
  auto sorted = one;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
}

TEST(Shuffle, ReachesEveryOrderEquallyOften) {
  std::map<std::vector<std::uint32_t>, int> counts;
  for (std::uint64_t stream = 0; stream < 24000; ++stream) {
    std::vector<std::uint32_t> items{0, 1, 2, 3};
    shuffle(items, 9, stream);
    ++counts[items];
  }
  ASSERT_EQ(counts.size(), 24U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Shuffle, TakesNothingAndOne) {
  std::vector<std::uint32_t> none;
  shuffle(none, 1, 1);
  std::vector<std::uint32_t> one{7};
  shuffle(one, 1, 1);
  EXPECT_EQ(one[0], 7U);
}

}  // namespace
}  // namespace dragoman::core
