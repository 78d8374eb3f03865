#include "op_harness.h"

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/slice.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;

std::vector<Variable> assembled(Context& c, Operands x) {
  const std::vector<ops::Placed> blocks{{x[0], 0, 0}, {x[1], 0, 3}, {x[2], 2, 0}};
  return {ops::assemble(c, 5, 7, blocks)};
}

std::vector<OpCase> slice_cases() {
  return {{.name = "slice_block",
           .operands = {{5, 7}},
           .run = [](Context& c, Operands x) { return std::vector{ops::slice(c, x[0], 1, 4, 2, 5)}; }},
          {.name = "slice_overlapping",
           .operands = {{5, 7}},
           .run =
               [](Context& c, Operands x) {
                 return std::vector{ops::slice(c, x[0], 0, 3, 0, 5), ops::slice(c, x[0], 2, 5, 1, 7)};
               }},
          {.name = "slice_nothing",
           .operands = {{5, 7}},
           .run =
               [](Context& c, Operands x) {
                 return std::vector{ops::slice(c, x[0], 2, 2, 0, 7), x[0]};
               }},
          {.name = "assemble", .operands = {{2, 3}, {2, 4}, {3, 7}}, .run = assembled},
          {.name = "split_two",
           .operands = {{3, 8}},
           .run =
               [](Context& c, Operands x) {
                 const auto parts = ops::split_columns<2>(c, ops::scale(c, x[0], 2));
                 return std::vector{ops::multiply(c, parts[0], parts[1]), parts[0]};
               }},
          {.name = "split_three",
           .operands = {{3, 9}},
           .run =
               [](Context& c, Operands x) {
                 const auto parts = ops::split_columns<3>(c, ops::scale(c, x[0], 2));
                 return std::vector{parts[2], ops::multiply(c, parts[0], parts[2])};
               }},
          {.name = "split_with_unused_part", .operands = {{3, 6}}, .run = [](Context& c, Operands x) {
             return std::vector{ops::split_columns<3>(c, ops::scale(c, x[0], 2))[1]};
           }}};
}

INSTANTIATE_TEST_SUITE_P(Slice, OpTest, ::testing::ValuesIn(slice_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Slice, OpGradientTest, ::testing::ValuesIn(small(slice_cases())), case_name);

TEST(Slice, IsAViewOfTheSameMemory) {
  Rig rig(Device::kCpu);
  const Variable x = rig.constant(3, 4, random_values(12, 1));
  const Variable y = ops::slice(rig.context(), x, 1, 2, 2, 4);
  EXPECT_EQ(y.value.data, x.value.row<float>(1) + 2);
  EXPECT_EQ(y.value.stride, 4);
}

TEST(Slice, RefusesBlocksOutsideOfTheMatrix) {
  Rig rig(Device::kReference);
  const Variable x = rig.constant(3, 4, random_values(12, 1));
  EXPECT_THROW(ops::slice(rig.context(), x, 0, 4, 0, 4), core::Error);
  EXPECT_THROW(ops::slice(rig.context(), x, 0, 3, -1, 4), core::Error);
  EXPECT_THROW(ops::slice(rig.context(), x, 2, 1, 0, 4), core::Error);
  EXPECT_THROW(ops::split_columns<3>(rig.context(), x), core::Error);
}

TEST(SplitColumns, RefusesToShareItsOperand) {
  Rig rig(Device::kReference);
  rig.record();
  const Variable x = rig.variable(1, 4, random_values(4, 1), true);
  const auto parts = ops::split_columns<2>(rig.context(), x);
  const Variable other = ops::scale(rig.context(), x, 2);  // a second consumer
  const Variable weights = rig.constant(1, 2, std::vector<double>{1, 1});
  const Variable loss =
      ops::add(rig.context(), ops::weighted_sum(rig.context(), parts[0], weights.value),
               ops::weighted_sum(rig.context(), ops::slice(rig.context(), other, 0, 1, 0, 2), weights.value));
  EXPECT_THROW(rig.backward(loss), core::Error);
}

TEST(WeightedSum, SumsByHand) {
  for (const Device device : all_devices()) {
    Rig rig(device);
    const Variable x = rig.constant(2, 2, std::vector<double>{1, 2, 3, 4});
    const Tensor weights = rig.matrix(2, 2, std::vector<double>{10, 100, 1000, -1});
    EXPECT_EQ(values_of(ops::weighted_sum(rig.context(), x, weights).value), std::vector<double>{3206});
  }
}

}  // namespace
}  // namespace dragoman::testing
