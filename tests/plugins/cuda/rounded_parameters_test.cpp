#include "emulated_backend.h"

#include <random>

#include <gtest/gtest.h>

#include <dragoman/core/parallel.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/rounded_parameters.h>

// Parameters that a step rounds once for all of its products: the bytes of products that round them each time, and no
// step sees the values of another.
namespace dragoman::backend::cuda::of_rounded_parameters {
namespace {

using tensor::ComputeType;
using tensor::Tensor;
using testing::EmulatedCuda;
using Steps = testing::HiddenBackend::Steps;

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kOutputs = 3;

/// How a step computes.
struct Way {
  bool rounds = true;        ///< all parameters, at its beginning
  std::int64_t inputs = 64;  ///< of the layer
  ComputeType type = ComputeType::kBF16;
};
struct Results {
  std::vector<float> y, dx;
  bool operator==(const Results&) const = default;
};

/// A linear layer, forward and back to its input, on a device that runs its steps or keeps them.
class RoundedParameters : public ::testing::TestWithParam<Steps> {
 protected:
  RoundedParameters() {
    context_.set_recorder(backend_.make_recorder(context_));
    fill(1);
  }

  /// Other parameters, at the same place.
  void fill(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(kCount);
    for (float& value : values) value = uniform(random);
    memory_.copy_in(parameters_.data(), values.data(), values.size() * sizeof(float));
  }

  Results step(const Way& way) { return step(context_, way); }
  Results step(tensor::Context& context, const Way& way) {
    auto& mode = autograd::training_mode(context);
    mode.set_training(true);
    mode.set_compute_type(way.type);
    struct Made {
      Tensor y, dx;
    };
    const Made made = context.step(
        [&] {
          if (way.rounds) ops::prepare_rounding(context, flat());
          return tensor::StepKey{"layer", {way.rounds ? 1 : 0, way.inputs}};
        },
        [&]() -> Made {
          if (way.rounds) ops::round_parameters(context, flat());
          Tensor weight = flat().col_range(16, 16 + kOutputs * way.inputs);
          weight.rows = kOutputs;
          weight.cols = weight.stride = way.inputs;
          const auto input = [&](std::int64_t cols) {
            return Tensor{inputs_.data(), kRows, cols, cols, tensor::DType::kF32, context.device()};
          };
          const Tensor y = context.allocate(kRows, kOutputs), dx = context.allocate(kRows, way.inputs);
          context.kernels().get(ops::kLinear)(
              context,
              {.x = input(way.inputs), .weight = weight, .bias = {}, .pre_activation = {}, .y = y, .type = way.type});
          context.kernels().get(ops::kLinearBackward)(context, {.x = input(way.inputs),
                                                                .weight = weight,
                                                                .pre_activation = {},
                                                                .y = y,
                                                                .dy = input(kOutputs),
                                                                .dx = {dx, false},
                                                                .dweight = {},
                                                                .dbias = {},
                                                                .type = way.type});
          return {y, dx};
        });
    return {values_of(made.y), values_of(made.dx)};
  }
  /// The same with parameters that no step has seen before.
  Results expected(Way way) {
    tensor::Context fresh(backend_.kernels(), memory_, tensor::DType::kF32, executor_);
    way.rounds = false;
    return step(fresh, way);
  }

  EmulatedCuda backend_{GetParam() == Steps::kRun ? "cuda" : "captured", GetParam()};
  tensor::DeviceMemory& memory_ = backend_.memory(0);
  core::SequentialExecutor executor_;
  tensor::Context context_{backend_.kernels(), memory_, tensor::DType::kF32, executor_};

 private:
  static constexpr std::int64_t kCount = 16 + kOutputs * 64 + 48;

  Tensor flat() { return {parameters_.data(), 1, kCount, kCount, tensor::DType::kF32, context_.device()}; }
  std::vector<float> values_of(const Tensor& x) {
    std::vector<float> values(static_cast<std::size_t>(x.size()));
    memory_.copy_out(values.data(), x.data, values.size() * sizeof(float));
    return values;
  }
  tensor::Buffer filled(std::int64_t count) {
    tensor::Buffer buffer(memory_, static_cast<std::size_t>(count) * sizeof(float));
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.37F * static_cast<float>(i % 19) - 3;
    memory_.copy_in(buffer.data(), values.data(), buffer.size());
    return buffer;
  }

  tensor::Buffer parameters_{memory_, kCount * sizeof(float)};
  tensor::Buffer inputs_ = filled(kRows * 64);
};
INSTANTIATE_TEST_SUITE_P(Steps, RoundedParameters, ::testing::Values(Steps::kRun, Steps::kReplay),
                         [](const auto& steps) {
                           return std::string(steps.param == Steps::kRun ? "run" : "replayed");
                         });

/// 20 inputs do not fill their words: such a weight is rounded in each product.
TEST_P(RoundedParameters, ProductsHaveTheBytesOfThoseThatRoundEachTime) {
  for (const ComputeType type : {ComputeType::kBF16, ComputeType::kF16, ComputeType::kF32})
    for (const std::int64_t inputs : {64, 32, 20}) {
      const Way way{.inputs = inputs, .type = type};
      EXPECT_EQ(step(way), expected(way)) << inputs << " inputs in " << name_of(type);
    }
}

/// One kernel rounds all parameters; otherwise each of the two products has one for its weight.
TEST_P(RoundedParameters, OneKernelRoundsThemAll) {
  const auto launches_of = [&](const Way& way) {
    step(way);  // tables are made
    const std::uint64_t before = testing::emulation::launches("NarrowRows");
    step(way);
    return testing::emulation::launches("NarrowRows") - before;
  };
  EXPECT_EQ(launches_of({.rounds = false}), 3) << "the input of the forward product, and the weight twice";
  EXPECT_EQ(launches_of({.rounds = true}), 2) << "the input and all parameters";
  EXPECT_EQ(launches_of({.rounds = true, .type = ComputeType::kF32}), 0);
}

TEST_P(RoundedParameters, AChangedWeightIsRoundedAnew) {
  for (std::uint64_t seed = 1; seed <= 7; ++seed) {
    fill(seed);
    EXPECT_EQ(step({}), expected({})) << "step " << seed;
  }
  EXPECT_EQ(testing::emulation::replays(backend_).replayed > 0, GetParam() == Steps::kReplay);
  // A step that rounds nothing does not see what an earlier one has rounded.
  fill(8);
  EXPECT_EQ(step({.rounds = false}), expected({}));
}

/// The room of the first parameters is too small for the second ones, and steps that were kept point to it.
TEST_P(RoundedParameters, RoomMayMove) {
  for (int i = 0; i < 3; ++i) step({});
  const std::int64_t count = 4096;
  tensor::Buffer other(memory_, count * sizeof(float));
  memory_.clear(other.data(), other.size());
  autograd::training_mode(context_).set_compute_type(ComputeType::kBF16);
  ops::prepare_rounding(context_, {other.data(), 1, count, count, tensor::DType::kF32, context_.device()});
  fill(2);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step({}), expected({})) << i;
}

}  // namespace
}  // namespace dragoman::backend::cuda::of_rounded_parameters
