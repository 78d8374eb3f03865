#include "op_harness.h"

#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/ops/rows.h>

namespace dragoman::testing {
namespace {

using Rows = std::vector<std::int32_t>;

class RowsTest : public ::testing::TestWithParam<Device> {
 protected:
  ops::DeviceIndices upload(const Rows& rows) { return rig_.context().upload(std::span(rows)); }

  Rig rig_{GetParam(), 2};
};
INSTANTIATE_TEST_SUITE_P(Rows, RowsTest, kAllDevices, device_name);

TEST_P(RowsTest, GatherTakesTheNamedRowsAndZerosForNone) {
  const Tensor wide = rig_.matrix(3, 4, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Rows rows = {2, -1, 0, 2};
  const Tensor y = ops::gather_rows(rig_.context(), wide.col_range(1, 3), upload(rows));
  EXPECT_EQ(values_of(y), (std::vector<double>{10, 11, 0, 0, 2, 3, 10, 11}));
}

TEST_P(RowsTest, ScatterReplacesTheNamedRowsOnly) {
  const Tensor y = rig_.matrix(4, 3, std::vector<double>(12, -1));
  const Tensor x = rig_.matrix(2, 3, std::vector<double>{1, 2, 3, 4, 5, 6});
  const Rows rows = {3, 1};
  ops::scatter_rows(rig_.context(), x.col_range(0, 2), upload(rows), y.col_range(1, 3));
  EXPECT_EQ(values_of(y), (std::vector<double>{-1, -1, -1, -1, 4, 5, -1, -1, -1, -1, 1, 2}));
}

TEST_P(RowsTest, NoRowsAreNoWork) {
  const Tensor x = rig_.matrix(2, 3, std::vector<double>(6, 1));
  EXPECT_EQ(ops::gather_rows(rig_.context(), x, {}).rows, 0);
  ops::scatter_rows(rig_.context(), x.row_range(0, 0), {}, x);
  EXPECT_EQ(values_of(x), std::vector<double>(6, 1));
}

/// Many rows go through in blocks, on several threads.
TEST_P(RowsTest, WhatWasScatteredIsGathered) {
  constexpr std::int64_t kRows = 5000;
  constexpr std::int64_t kWidth = 33;
  const std::vector<double> values = random_values(kRows * kWidth, 1);
  const Tensor x = rig_.matrix(kRows, kWidth, values);
  const Tensor pool = rig_.matrix(2 * kRows, kWidth, std::vector<double>(2 * kRows * kWidth, 0));
  Rows rows;
  for (std::int32_t i = 0; i < kRows; ++i) rows.push_back((i * 7 + 3) % (2 * kRows));
  ops::scatter_rows(rig_.context(), x, upload(rows), pool);
  EXPECT_EQ(values_of(ops::gather_rows(rig_.context(), pool, upload(rows))), values);
}

TEST_P(RowsTest, ShapesThatDoNotFitAreErrors) {
  const Tensor x = rig_.matrix(2, 3, std::vector<double>(6, 1));
  const Rows one = {0};
  EXPECT_THROW(ops::scatter_rows(rig_.context(), x, upload(one), x), core::Error);
  EXPECT_THROW(ops::scatter_rows(rig_.context(), x.row_range(0, 1), upload(one), x.col_range(0, 2)), core::Error);
}

TEST_P(RowsTest, ScatteringToBf16Rounds) {
  Context& context = rig_.context();
  // Ties go to even; what is too large for bf16 becomes infinite.
  const std::vector<double> values = {1, 1.00390625, 1.01171875, -3.4e38, 1e-40, 0.1};
  const std::vector<double> expected = {1,
                                        1,
                                        1.015625,
                                        -std::numeric_limits<double>::infinity(),
                                        tensor::bf16_to_f32(tensor::f32_to_bf16(1e-40F)),
                                        0.10009765625};
  const Tensor x = rig_.matrix(2, 3, values);
  const Tensor y = context.arena().allocate(3, 3, tensor::DType::kBF16, context.device());
  const Rows rows = {2, 0};
  ops::scatter_rows(context, x, upload(rows), y);
  EXPECT_EQ(values_of(y.row_range(2, 3)), std::vector<double>(expected.begin(), expected.begin() + 3));
  EXPECT_EQ(values_of(y.row_range(0, 1)), std::vector<double>(expected.begin() + 3, expected.end()));
  ops::round_to(context, x, tensor::DType::kBF16);
  EXPECT_EQ(values_of(x), expected);
}

/// The CPU keeps nothing in fp16.
TEST(Rows, ScatteringToFp16Rounds) {
  const std::vector<double> values = {1, 1 + 0x1p-11, 1 + 0x3p-11, -65520, 0x1p-25, 0.1};
  const std::vector<double> expected = {1, 1, 1 + 0x1p-9, -std::numeric_limits<double>::infinity(), 0, 0.0999755859375};
  for (const Device device : devices_that_train_in(tensor::ComputeChoice::kF16)) {
    Rig rig(device);
    Context& context = rig.context();
    const Tensor x = rig.matrix(2, 3, values);
    const Tensor y = context.arena().allocate(3, 3, tensor::DType::kF16, context.device());
    const std::vector<std::int32_t> rows = {2, 0};
    ops::scatter_rows(context, x, context.upload(std::span<const std::int32_t>(rows)), y);
    EXPECT_EQ(values_of(y.row_range(2, 3)), std::vector<double>(expected.begin(), expected.begin() + 3));
    EXPECT_EQ(values_of(y.row_range(0, 1)), std::vector<double>(expected.begin() + 3, expected.end()));
    ops::round_to(context, x, tensor::DType::kF16);
    EXPECT_EQ(values_of(x), expected);
  }
}

}  // namespace
}  // namespace dragoman::testing
