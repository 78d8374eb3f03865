#include "op_harness.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/ops/choose_next.h>

namespace dragoman::testing {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Candidates of some rows, and what is chosen from them.
struct Choosing {
  std::int64_t per_row = 1;
  std::vector<std::int32_t> candidates{};
  std::vector<double> log_probabilities{};
  std::vector<double> sums{};
  std::vector<ops::NextRows> choices{};
  std::vector<std::int32_t> tokens{};
  std::vector<std::int32_t> parents{};
};

/// Writes tokens and parents as the device does.
void choose(Device device, std::int32_t end, Choosing& choosing) {
  Rig rig(device);
  Context& context = rig.context();
  const auto rows = static_cast<std::int64_t>(choosing.sums.size());
  const Tensor candidates = context.arena().allocate(rows, choosing.per_row, tensor::DType::kI32, context.device());
  context.memory().copy_in(candidates.data, choosing.candidates.data(),
                           choosing.candidates.size() * sizeof(std::int32_t));
  const Tensor log_probabilities = rig.matrix(rows, choosing.per_row, choosing.log_probabilities);
  const auto tokens = context.upload(std::span<const std::int32_t>(choosing.tokens));
  const auto parents = context.upload(std::span<const std::int32_t>(choosing.parents));
  ops::choose_next(context, {candidates, log_probabilities, choosing.sums, choosing.choices}, end, tokens, parents);
  if (context.memory().reads_host_memory()) return;  // it was these that were written
  const std::size_t bytes = choosing.tokens.size() * sizeof(std::int32_t);
  context.memory().copy_out(choosing.tokens.data(), tokens.data, bytes);
  context.memory().copy_out(choosing.parents.data(), parents.data, bytes);
}

class ChooseNextTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(ChooseNext, ChooseNextTest, kAllDevices, device_name);

TEST_P(ChooseNextTest, OrdersBySumThenParentThenRank) {
  Choosing two{.per_row = 3,
               .candidates = {5, 2, 7, 9, 6, 8},
               .log_probabilities = {-1, -1, -2, -0.5, -1.5, -1.5},
               .sums = {-1, -1.5},
               .choices = {{.first_row = 0, .rows = 2, .candidates = 3, .first_next = 1, .next = 6}},
               .tokens = std::vector<std::int32_t>(8, -1),
               .parents = std::vector<std::int32_t>(8, -1)};
  // Sums: -2 of 5; 2 is the end; -3 of 7; -2 of 9; -3 of 6 and 8. There is no sixth.
  choose(GetParam(), 2, two);
  EXPECT_EQ(two.tokens, (std::vector<std::int32_t>{-1, 5, 9, 7, 6, 8, 2, -1}));
  EXPECT_EQ(two.parents, (std::vector<std::int32_t>{-1, 0, 1, 0, 1, 1, 0, -1}));
}

TEST_P(ChooseNextTest, SumsAreOfDoublePrecision) {
  // As floats both sums are -2^24.
  Choosing close{.per_row = 1,
                 .candidates = {3, 4},
                 .log_probabilities = {-0.25, -0.125},
                 .sums = {-16777216, -16777216},
                 .choices = {{.first_row = 0, .rows = 2, .candidates = 1, .first_next = 0, .next = 2}},
                 .tokens = {0, 0},
                 .parents = {9, 9}};
  choose(GetParam(), 2, close);
  EXPECT_EQ(close.tokens, (std::vector<std::int32_t>{4, 3}));
  EXPECT_EQ(close.parents, (std::vector<std::int32_t>{1, 0}));
}

TEST_P(ChooseNextTest, WhereNothingIsPossibleRowsStayPossible) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Choosing none{.per_row = 2,
                .candidates = {4, 5, 2, 6, 7, 8},
                .log_probabilities = {-9, -9, kImpossible, kImpossible, nan, nan},
                .sums = {0, 0, -1},
                .choices = {{.first_row = 1, .rows = 2, .candidates = 2, .first_next = 0, .next = 2}},
                .tokens = {0, 0},
                .parents = {9, 9}};
  choose(GetParam(), 2, none);
  EXPECT_EQ(none.tokens, (std::vector<std::int32_t>{2, 2}));
  EXPECT_EQ(none.parents, (std::vector<std::int32_t>{1, 1}));
}

/// Sentences of all sizes beside each other, more rows than a warp has lanes among them, with values that are often
/// equal; against sorting.
TEST_P(ChooseNextTest, IsWhatSortingFinds) {
  constexpr std::int32_t kEnd = 3;
  Choosing many{.per_row = 9};
  std::vector<std::int32_t> expected_tokens, expected_parents;
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t below) {
    return static_cast<std::int32_t>(core::random_below(below, 5, 0, draws++));
  };
  for (const std::int32_t rows : {1, 4, 2, 70, 1, 5, 33, 3}) {
    const auto first_row = static_cast<std::int32_t>(many.sums.size());
    many.choices.push_back({.first_row = first_row,
                            .rows = rows,
                            .candidates = 1 + draw(9),
                            .first_next = static_cast<std::int32_t>(expected_tokens.size()),
                            .next = 1 + draw(12)});
    const ops::NextRows& choice = many.choices.back();
    std::vector<std::tuple<double, std::int32_t, std::int32_t, std::int32_t>> sorted;
    for (std::int32_t row = first_row; row < first_row + rows; ++row) {
      many.sums.push_back(-0.5 * draw(4));
      double value = 0;
      for (std::int32_t rank = 0; rank < many.per_row; ++rank) {
        value = draw(12) == 0 ? kImpossible : value - 0.5 * draw(3);
        const std::int32_t token = draw(3) == 0 ? kEnd : 10 + draw(100);
        many.candidates.push_back(token);
        many.log_probabilities.push_back(value);
        if (rank < choice.candidates && token != kEnd && value > kImpossible)
          sorted.emplace_back(-(many.sums.back() + value), row, rank, token);
      }
    }
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < static_cast<std::size_t>(choice.next); ++i) {
      const auto [total, row, rank, token] = i < sorted.size() ? sorted[i] : std::tuple(0.0, first_row, 0, kEnd);
      expected_tokens.push_back(token);
      expected_parents.push_back(row);
    }
  }
  many.tokens.resize(expected_tokens.size());
  many.parents.resize(expected_tokens.size());
  choose(GetParam(), kEnd, many);
  EXPECT_EQ(many.tokens, expected_tokens);
  EXPECT_EQ(many.parents, expected_parents);
}

TEST(ChooseNext, RowsThatThereAreNotAreErrors) {
  const Choosing right{.per_row = 1,
                       .candidates = {3, 4},
                       .log_probabilities = {-1, -2},
                       .sums = {0, 0},
                       .choices = {{.first_row = 0, .rows = 2, .candidates = 1, .first_next = 0, .next = 2}},
                       .tokens = {0, 0},
                       .parents = {0, 0}};
  const auto refused = [&](const auto& change) {
    Choosing wrong = right;
    change(wrong);
    EXPECT_THROW(choose(Device::kReference, 2, wrong), core::Error);
  };
  refused([](Choosing& c) { c.choices[0].first_row = 1; });
  refused([](Choosing& c) { c.choices[0].rows = 0; });
  refused([](Choosing& c) { c.choices[0].candidates = 2; });
  refused([](Choosing& c) { c.choices[0].first_next = 1; });
  refused([](Choosing& c) { c.parents.push_back(0); });
}

}  // namespace
}  // namespace dragoman::testing
