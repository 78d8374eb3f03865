#include "ranks.h"

#include <algorithm>
#include <mutex>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/collective/tree_sum.h>

namespace dragoman::collective {
namespace {

/// Numbers of all sizes, so that every other order of additions has other bits.
template <class T>
std::vector<T> leaf(std::int64_t number, std::size_t length) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number) + 1);
  std::normal_distribution<double> normal;
  std::vector<T> values(length);
  for (T& value : values) value = static_cast<T>(normal(random) * std::exp2(static_cast<double>(random() % 24)));
  return values;
}

/// By the definition: halves at the largest power of two below.
template <class T>
std::vector<T> expected_sum(std::int64_t begin, std::int64_t end, std::size_t length) {
  if (end - begin == 1) return leaf<T>(begin, length);
  std::int64_t half = 1;
  while (half * 2 < end - begin) half *= 2;
  std::vector<T> left = expected_sum<T>(begin, begin + half, length);
  const std::vector<T> right = expected_sum<T>(begin + half, end, length);
  for (std::size_t i = 0; i < length; ++i) left[i] += right[i];
  return left;
}

template <class T>
void expect_sums(int size, std::int64_t leaves, std::size_t length) {
  const std::vector<T> expected = expected_sum<T>(0, leaves, length);
  const auto errors = testing::run_ranks(size, [&](Collective& collective) {
    const auto add = [](std::vector<T> left, const std::vector<T>& right) {
      for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
      return left;
    };
    TreeSum sum(collective);
    for (int repetition = 0; repetition < 2; ++repetition) {
      TreeSummation<std::vector<T>> own;
      const LeafRange range = share_of(leaves, collective.rank(), size);
      for (std::int64_t i = range.begin; i < range.end; ++i) own.push({0, i}, leaf<T>(i, length), add);
      std::vector<std::vector<T>> parts;
      for (const auto& [node, values] : own.waiting()) parts.push_back(values);
      std::vector<T> result(length);
      // As training has it: the last part takes the sum.
      std::vector<std::span<T>> spans(parts.begin(), parts.end());
      const std::span<T> to = spans.empty() ? std::span<T>(result) : spans.back();
      sum(leaves, std::span<const std::span<T>>(spans), to);
      EXPECT_TRUE(std::ranges::equal(std::as_bytes(to), std::as_bytes(std::span<const T>(expected))))
          << leaves << " leaves, rank " << collective.rank() << " of " << size;
    }
    collective.close();
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

TEST(TreeSum, HasTheBitsOfTheTreeForAnyNumberOfProcesses) {
  for (const int size : {1, 2, 3, 4})
    for (const std::int64_t leaves : {1, 2, 3, 4, 6, 7, 12}) expect_sums<float>(size, leaves, 1001);
  expect_sums<double>(3, 5, 77);
}

TEST(TreeSum, TakesVectorsThatAreShorterThanThereAreProcesses) {
  expect_sums<float>(4, 4, 2);
  expect_sums<float>(3, 6, 0);
}

/// More than the buffers of a socket take at once, both ways.
TEST(TreeSum, TakesLongVectors) {
  expect_sums<float>(3, 3, 3'000'001);
}

}  // namespace
}  // namespace dragoman::collective
