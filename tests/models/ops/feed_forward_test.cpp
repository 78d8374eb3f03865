#include "op_harness.h"

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/ops/feed_forward.h>

namespace dragoman::testing {
namespace {

using ops::Activation;
using tensor::ComputeType;

class FeedForwardTest : public ::testing::TestWithParam<Device> {
 protected:
  std::unique_ptr<tensor::PackedWeight> pack(std::int64_t outputs, std::int64_t inputs, unsigned seed,
                                             ComputeType type) {
    const Tensor weight = rig_.matrix(outputs, inputs, random_values(outputs * inputs, seed));
    return rig_.context().kernels().get(ops::kPackWeight)(rig_.context(), weight, type);
  }

  Rig rig_{GetParam(), 2};
};
INSTANTIATE_TEST_SUITE_P(FeedForward, FeedForwardTest, kAllDevices, device_name);

/// Wide ones do not fit one panel of the CPU's.
TEST_P(FeedForwardTest, HasTheBitsOfTwoLinearLayers) {
  // Emulated, each case takes a second.
  const bool on_host = GetParam().backend() != "cuda";
  const std::vector<std::int64_t> row_counts =
      on_host ? std::vector<std::int64_t>{0, 1, 3, 64, 85, 300} : std::vector<std::int64_t>{0, 3, 65};
  struct Size {
    std::int64_t width, inner;
  };
  // A kernel for AMX multiplies whole groups of 64 inputs.
  for (const auto [width, inner] : {Size{24, 40}, Size{24, 4100}, Size{64, 128}})
    for (const ComputeType type : {ComputeType::kF32, ComputeType::kBF16, ComputeType::kI8Narrow}) {
      const auto in = pack(inner, width, 1, type);
      const auto out = pack(width, inner, 2, type);
      const Variable in_bias = rig_.constant(1, inner, random_values(inner, 3));
      const Variable out_bias = rig_.constant(1, width, random_values(width, 4));
      for (const std::int64_t rows : row_counts)
        for (const bool has_bias : {true, false})
          for (const Activation activation : {Activation::kRelu, Activation::kGelu}) {
            if (!on_host && has_bias != (activation == Activation::kRelu)) continue;
            const Variable x = rig_.constant(rows, width, random_values(rows * width, 5));
            const Variable b = has_bias ? in_bias : Variable{};
            const Variable c = has_bias ? out_bias : Variable{};
            const Variable together =
                ops::feed_forward(rig_.context(), x, {{}, in.get()}, b, activation, {{}, out.get()}, c);
            const Variable apart = ops::linear(
                rig_.context(), ops::linear(rig_.context(), x, {{}, in.get()}, b, activation), {{}, out.get()}, c);
            EXPECT_EQ(values_of(together.value), values_of(apart.value))
                << rows << " rows, " << inner << " inner, " << tensor::name_of(type);
          }
    }
}

TEST_P(FeedForwardTest, ARowThatIsNotFiniteStaysAlone) {
  const auto in = pack(16, 8, 1, ComputeType::kI8Narrow);
  const auto out = pack(8, 16, 2, ComputeType::kI8Narrow);
  std::vector<double> values = random_values(3 * 8, 5);
  values[8] = std::numeric_limits<double>::infinity();
  const Variable y = ops::feed_forward(rig_.context(), rig_.constant(3, 8, values), {{}, in.get()}, {},
                                       Activation::kRelu, {{}, out.get()}, {});
  const std::vector<double> found = values_of(y.value);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(std::isnan(found[i]), i / 8 == 1) << i;
}

TEST_P(FeedForwardTest, RefusesWhatDoesNotFit) {
  const auto in = pack(16, 8, 1, ComputeType::kF32);
  const auto out = pack(8, 16, 2, ComputeType::kF32);
  const Variable x = rig_.constant(2, 8, random_values(16, 5));
  const Variable wide = rig_.constant(2, 9, random_values(18, 5));
  const Variable bias = rig_.constant(1, 9, random_values(9, 5));
  const auto run = [&](const Variable& from, const Variable& in_bias, const tensor::PackedWeight& second) {
    ops::feed_forward(rig_.context(), from, {{}, in.get()}, in_bias, Activation::kRelu, {{}, &second}, {});
  };
  EXPECT_NO_THROW(run(x, {}, *out));
  EXPECT_THROW(run(wide, {}, *out), core::Error);
  EXPECT_THROW(run(x, bias, *out), core::Error);
  EXPECT_THROW(run(x, {}, *in), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
