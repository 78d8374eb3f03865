#include "packing/packed_weight.h"

#include "support.h"

#include <cmath>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>

namespace dragoman::backend::cpu {
namespace {

std::unique_ptr<tensor::PackedWeight> pack(Rig& rig, const Tensor& weight) {
  return rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, tensor::ComputeType::kF32);
}

/// relu(x * weight^T + bias) through the packed form against sums in double precision.
void expect_linear(std::int64_t rows, std::int64_t outputs, std::int64_t inputs, int threads) {
  Matrix x(rows, inputs, random_floats(rows * inputs, 1), 3);
  Matrix weight(outputs, inputs, random_floats(outputs * inputs, 2), 2);
  Matrix bias(1, outputs, random_floats(outputs, 3));
  Matrix pre(rows, outputs, 1);
  Matrix y(rows, outputs, 5);
  Rig rig(threads);
  const auto packed = pack(rig, weight);
  rig.run(ops::kLinear, ops::LinearArguments{.x = x,
                                             .packed = packed.get(),
                                             .bias = bias,
                                             .activation = ops::Activation::kRelu,
                                             .pre_activation = pre,
                                             .y = y});
  EXPECT_TRUE(y.gaps_untouched());
  EXPECT_TRUE(pre.gaps_untouched());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = bias.at(0, o);
      double size = std::abs(sum);
      for (std::int64_t i = 0; i < inputs; ++i) {
        const double product = static_cast<double>(x.at(r, i)) * static_cast<double>(weight.at(o, i));
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(pre.at(r, o), sum, 1e-6 * size) << rows << " rows, row " << r << ", output " << o;
      ASSERT_EQ(y.at(r, o), std::max(0.0F, pre.at(r, o)));
    }
}

TEST(PackedWeight, MultipliesAnyNumberOfRows) {
  for (const std::int64_t rows : {1, 2, 3, 5, 20, 37, 64, 100}) expect_linear(rows, 40, 24, 1);
  expect_linear(300, 17, 33, 1);
}

TEST(PackedWeight, MultipliesThroughSeveralPanels) {
  expect_linear(3, 8200, 12, 1);
  expect_linear(270, 4097, 7, 2);
}

TEST(PackedWeight, KnowsItsShape) {
  Rig rig;
  Matrix weight(5, 9, random_floats(45, 1));
  const auto packed = pack(rig, weight);
  EXPECT_EQ(packed->rows(), 5);
  EXPECT_EQ(packed->cols(), 9);
}

/// Halves, quarters and small integers are exact in all float types, so packing them from 16 bits must change nothing.
template <class Encode>
void expect_same_as_f32(tensor::DType dtype, const Encode& encode) {
  constexpr std::int64_t kOutputs = 19;
  constexpr std::int64_t kInputs = 30;
  std::vector<float> values;
  std::vector<std::uint16_t> bits;
  for (std::int64_t i = 0; i < kOutputs * kInputs; ++i) {
    values.push_back(static_cast<float>(i % 37 - 18) / 4);
    bits.push_back(encode(values.back()));
  }
  Rig rig;
  Matrix plain(kOutputs, kInputs, values);
  Matrix x(3, kInputs, random_floats(3 * kInputs, 4));
  Matrix expected(3, kOutputs);
  Matrix actual(3, kOutputs);
  const auto from_plain = pack(rig, plain);
  const auto from_bits = pack(rig, {bits.data(), kOutputs, kInputs, kInputs, dtype, tensor::Device::kCpu});
  rig.run(ops::kLinear, ops::LinearArguments{.x = x, .packed = from_plain.get(), .y = expected});
  rig.run(ops::kLinear, ops::LinearArguments{.x = x, .packed = from_bits.get(), .y = actual});
  EXPECT_EQ(actual.values(), expected.values());
}

TEST(PackedWeight, TakesWeightsStoredInSixteenBits) {
  expect_same_as_f32(tensor::DType::kF16, tensor::f32_to_f16);
  expect_same_as_f32(tensor::DType::kBF16, tensor::f32_to_bf16);
}

TEST(PackedWeight, RefusesWhatItCannotPack) {
  Rig rig;
  std::int8_t bytes[6] = {};
  EXPECT_THROW(pack(rig, {bytes, 2, 3, 3, tensor::DType::kI8, tensor::Device::kCpu}), core::Error);
  EXPECT_THROW(pack(rig, {bytes, 0, 3, 3, tensor::DType::kF32, tensor::Device::kCpu}), core::Error);
}

class ForeignWeight final : public tensor::PackedWeight {
 public:
  std::int64_t rows() const override { return 2; }
  std::int64_t cols() const override { return 3; }
  tensor::ComputeType type() const override { return tensor::ComputeType::kF32; }
};

TEST(PackedWeight, RefusesTheWeightOfAnotherBackend) {
  Rig rig;
  const ForeignWeight foreign;
  Matrix x(1, 3, {1, 2, 3});
  Matrix y(1, 2);
  EXPECT_THROW(rig.run(ops::kLinear, ops::LinearArguments{.x = x, .packed = &foreign, .y = y}), core::Error);
}

}  // namespace
}  // namespace dragoman::backend::cpu
