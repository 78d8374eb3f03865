#include "op_harness.h"

#include <dragoman/ops/embedding.h>
#include <dragoman/ops/slice.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;
using Ids = std::vector<std::int32_t>;

struct EmbeddingSetting {
  std::string name;
  Ids ids;
  Ids positions;  ///< empty: no position table
  double dropout = 0;
  std::int64_t vocabulary = 9;
  std::int64_t width = 5;
  bool large = false;
};

Ids many_ids(std::int64_t count, std::int64_t vocabulary) {
  Ids ids;
  for (const double value : random_values(count, 77, 0, static_cast<double>(vocabulary)))
    ids.push_back(static_cast<std::int32_t>(value) % static_cast<std::int32_t>(vocabulary));
  return ids;
}

OpCase embedding_case(const EmbeddingSetting& setting) {
  OpCase result{.name = setting.name,
                .operands = {{setting.vocabulary, setting.width}},
                .run = {},
                .training = setting.dropout > 0,
                .tolerance = 1e-4,
                .finite_differences = !setting.large};
  if (!setting.positions.empty()) result.operands.push_back({6, setting.width});
  result.run = [setting](Context& context, Operands x) {
    const Variable positions = setting.positions.empty() ? Variable{} : x[1];
    return std::vector{ops::embedding(context, context.indices(setting.ids), x[0], context.indices(setting.positions),
                                      positions, {.scale = 2.5, .dropout = setting.dropout})};
  };
  return result;
}

std::vector<OpCase> embedding_cases() {
  return {embedding_case({.name = "one_row", .ids = {3}, .positions = {}}),
          embedding_case({.name = "repeated_ids", .ids = {3, 0, 3, 8, 3, 0}, .positions = {}}),
          embedding_case({.name = "no_rows", .ids = {}, .positions = {}}),
          embedding_case({.name = "positions", .ids = {1, 2, 3, 1, 2}, .positions = {0, 1, 2, 0, 1}}),
          embedding_case({.name = "dropout", .ids = {1, 2, 3, 1}, .positions = {0, 1, 2, 5}, .dropout = 0.4}),
          embedding_case({.name = "odd_width", .ids = {0, 1, 1}, .positions = {1, 1, 0}, .vocabulary = 2, .width = 33}),
          embedding_case({.name = "large",
                          .ids = many_ids(700, 50),
                          .positions = many_ids(700, 6),
                          .dropout = 0.1,
                          .vocabulary = 50,
                          .width = 130,
                          .large = true}),
          embedding_case({.name = "wide_rows",
                          .ids = many_ids(700, 50),
                          .positions = many_ids(700, 6),
                          .dropout = 0.1,
                          .vocabulary = 50,
                          .width = 264,
                          .large = true}),
          embedding_case({.name = "many_tokens",
                          .ids = many_ids(1100, 40),
                          .positions = many_ids(1100, 6),
                          .dropout = 0.1,
                          .vocabulary = 50,
                          .width = 16,
                          .large = true})};
}

INSTANTIATE_TEST_SUITE_P(Embedding, OpTest, ::testing::ValuesIn(embedding_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Embedding, OpGradientTest, ::testing::ValuesIn(small(embedding_cases())), case_name);

class EmbeddingTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Embedding, EmbeddingTest, kAllDevices, device_name);

TEST_P(EmbeddingTest, LooksUpScalesAndAddsPositions) {
  Rig rig(GetParam());
  const Variable table = rig.constant(3, 2, std::vector<double>{1, 2, 3, 4, 5, 6});
  const Variable positions = rig.constant(2, 2, std::vector<double>{0.5, 0.25, -1, -2});
  const Ids ids{2, 0};
  const Ids places{0, 1};
  const Variable y = ops::embedding(rig.context(), rig.context().indices(ids), table, rig.context().indices(places),
                                    positions, {.scale = 2});
  EXPECT_EQ(values_of(y.value), (std::vector<double>{10.5, 12.25, 1, 2}));
}

/// As with fairseq's offset of 2: position p is row p + 2 of its table, and so is its gradient.
TEST_P(EmbeddingTest, CountsPositionsFromTheFirst) {
  Rig rig(GetParam());
  rig.record();
  const Variable table = rig.constant(3, 2, std::vector<double>{1, 2, 3, 4, 5, 6});
  const Variable positions = rig.variable(4, 2, std::vector<double>{100, 100, 100, 100, 0.5, 0.25, -1, -2}, true);
  const Ids ids{2, 0, 1};
  const Ids places{0, 1, 0};
  const Variable y = ops::embedding(rig.context(), rig.context().indices(ids), table, rig.context().indices(places),
                                    positions, {.scale = 2, .first_position = 2});
  EXPECT_EQ(values_of(y.value), (std::vector<double>{10.5, 12.25, 1, 2, 6.5, 8.25}));
  rig.backward(ops::weighted_sum(rig.context(), y, rig.matrix(3, 2, std::vector<double>{1, 2, 10, 20, 100, 200})));
  EXPECT_EQ(gradient_of(positions), (std::vector<double>{0, 0, 0, 0, 101, 202, 10, 20}));
  const Ids beyond{0, 2, 0};
  EXPECT_THROW(ops::embedding(rig.context(), rig.context().indices(ids), table, rig.context().indices(beyond),
                              positions, {.first_position = 2}),
               core::Error);
}

TEST_P(EmbeddingTest, RowsThatNoIdNamesGetNoGradient) {
  Rig rig(GetParam());
  rig.record();
  const Variable table = rig.variable(4, 2, std::vector<double>(8, 1.0), true);
  const Ids ids{2, 2};
  const Variable y = ops::embedding(rig.context(), rig.context().indices(ids), table, {}, {}, {.scale = 3});
  rig.backward(ops::weighted_sum(rig.context(), y, rig.matrix(2, 2, std::vector<double>{1, 2, 10, 20})));
  EXPECT_EQ(gradient_of(table), (std::vector<double>{0, 0, 0, 0, 33, 66, 0, 0}));
}

TEST_P(EmbeddingTest, RefusesIdsAndPositionsOutsideOfTheirTables) {
  Rig rig(GetParam());
  Context& context = rig.context();
  const Variable table = rig.constant(3, 1, std::vector<double>{1, 2, 3});
  const Ids good{0, 2};
  for (const Ids& bad : {Ids{0, 3}, Ids{-1, 0}}) {
    EXPECT_THROW(ops::embedding(context, context.indices(bad), table, {}, {}, {}), core::Error);
    EXPECT_THROW(ops::embedding(context, context.indices(good), table, context.indices(bad), table, {}), core::Error);
  }
  const Ids too_few{0};
  EXPECT_THROW(ops::embedding(context, context.indices(good), table, context.indices(too_few), table, {}), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
