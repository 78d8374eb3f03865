#include "collective_cases.h"
#include "ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::collective {
namespace {

template <class T>
void expect_sums(int size, std::int64_t leaves, std::size_t length) {
  const std::vector<T> expected = testing::expected_sum<T>(0, leaves, length);
  const auto errors = testing::run_ranks(size, [&](Collective& collective) {
    testing::expect_sum(collective, leaves, expected);
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

TEST(TreeSum, TakesLongVectors) {
  expect_sums<float>(3, 3, 3'000'001);
}

}  // namespace
}  // namespace dragoman::collective
