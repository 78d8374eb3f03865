#include "emulated_backend.h"

#include <bit>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/parallel.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>

// Results that an op rounds for the products that read them, and the linear layer with a dropout: the bits of kernels
// that do one thing each.
namespace dragoman::backend::cuda::of_rounded_results {
namespace {

using ops::Activation;
using ops::Variable;
using tensor::ComputeType;
using tensor::Tensor;
using testing::EmulatedCuda;
using Steps = testing::HiddenBackend::Steps;

class RoundedResults : public ::testing::TestWithParam<Steps> {
 protected:
  void use(tensor::Context& context, ComputeType type, autograd::Tape* tape = nullptr) {
    auto& mode = autograd::training_mode(context);
    mode.set_training(true);
    mode.set_compute_type(type);
    mode.set_random(/*seed=*/7, /*step=*/5);
    mode.set_tape(tape);
  }
  /// A matrix whose rows begin `offset` elements behind those of a wider one.
  Tensor matrix(tensor::Context& context, std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                std::int64_t offset = 0) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const Tensor whole = context.allocate(rows, cols + offset);
    std::vector<float> values(static_cast<std::size_t>(whole.size()));
    for (float& value : values) value = uniform(random);
    memory_.copy_in(whole.data, values.data(), values.size() * sizeof(float));
    return whole.col_range(offset, cols + offset);
  }
  Variable variable(tensor::Context& context, const Tensor& value) {
    return autograd::make_variable(context, value, true);
  }
  template <class T>
  std::vector<T> values_of(const Tensor& x) {
    std::vector<T> values(static_cast<std::size_t>(x.rows * x.stride));
    memory_.copy_out(values.data(), x.data, values.size() * sizeof(T));
    return values;
  }
  /// Expects that the result has been rounded, to its own values.
  void expect_rounded(const Variable& y, ComputeType type, const std::string& what) {
    ASSERT_FALSE(y.rounded.empty()) << what;
    EXPECT_EQ(y.rounded.dtype, type == ComputeType::kF16 ? tensor::DType::kF16 : tensor::DType::kBF16);
    EXPECT_EQ(y.rounded.stride, y.value.cols);
    std::vector<std::uint16_t> wanted;
    for (const float value : values_of<float>(y.value))
      wanted.push_back(type == ComputeType::kF16 ? tensor::f32_to_f16(value) : tensor::f32_to_bf16(value));
    EXPECT_EQ(values_of<std::uint16_t>(y.rounded), wanted) << what;
  }

  EmulatedCuda backend_{GetParam() == Steps::kRun ? "cuda" : "captured", GetParam()};
  tensor::DeviceMemory& memory_ = backend_.memory(0);
  core::SequentialExecutor executor_;
  tensor::Context context_{backend_.kernels(), memory_, tensor::DType::kF32, executor_};
};
INSTANTIATE_TEST_SUITE_P(Products, RoundedResults, ::testing::Values(Steps::kRun, Steps::kReplay),
                         [](const auto& steps) {
                           return std::string(steps.param == Steps::kRun ? "plain" : "library");
                         });

/// Rows that a warp keeps in registers and wider ones; rows that are no vectors.
TEST_P(RoundedResults, OfNorms) {
  for (const ComputeType type : {ComputeType::kBF16, ComputeType::kF16})
    for (const std::int64_t cols : {32, 96, 256, 512, 1024, 1184})
      for (const std::int64_t offset : {0, 1}) {
        use(context_, type);
        context_.step([&] {
          const std::string what = std::to_string(cols) + (offset == 0 ? "" : ", unaligned");
          const Variable x{matrix(context_, 5, cols, 1, offset)}, residual{matrix(context_, 5, cols, 2)};
          const Variable gain{matrix(context_, 1, cols, 3)}, bias{matrix(context_, 1, cols, 4)};
          expect_rounded(ops::layer_norm(context_, x, gain, bias, 1e-5), type, what);
          expect_rounded(ops::rms_norm(context_, x, gain, 1e-5), type, what);
          const auto norm = ops::residual_dropout_layer_norm(context_, residual, x, 0.1, gain, bias, 1e-5);
          expect_rounded(norm.normalised, type, what);
          EXPECT_TRUE(norm.sum.rounded.empty());
        });
      }
}

/// Rows that would need padding, products of floats, and inference round nothing.
TEST_P(RoundedResults, AreLeftOutWhereNoProductReadsThem) {
  context_.step([&] {
    const auto norm = [&](std::int64_t cols) {
      const Variable row{matrix(context_, 1, cols, 3)};
      return ops::layer_norm(context_, {matrix(context_, 3, cols, 1)}, row, row, 1e-5);
    };
    EXPECT_TRUE(norm(64).rounded.empty());
    use(context_, ComputeType::kF32);
    EXPECT_TRUE(norm(64).rounded.empty());
    use(context_, ComputeType::kBF16);
    EXPECT_TRUE(norm(48).rounded.empty());
    EXPECT_FALSE(norm(64).rounded.empty());
  });
}

/// Heads that kernels know the size of, others, and those that tensor cores do not take. The last rows are of no
/// sequence.
TEST_P(RoundedResults, OfAttention) {
  const std::vector<std::int32_t> offsets{0, 3, 22};
  for (const ComputeType type : {ComputeType::kBF16, ComputeType::kF16})
    for (const auto& [heads, width] : {std::pair(2, 32), {1, 64}, {1, 96}, {1, 128}, {2, 16}, {1, 160}}) {
      use(context_, type);
      context_.step([&, heads = heads, width = width] {
        const auto input = [&](std::uint64_t seed) { return Variable{matrix(context_, 22, heads * width, seed)}; };
        const auto indices = context_.indices(offsets);
        const Variable y = ops::attention(context_, input(1), input(2), input(3), indices, indices,
                                          {.heads = heads, .causal = true, .dropout = 0.1})
                               .output;
        expect_rounded(y, type, std::to_string(width));
      });
    }
}

struct Layer {
  std::int64_t rows;
  std::int64_t inputs;
  std::int64_t outputs;
  Activation activation = Activation::kNone;
  ComputeType type = ComputeType::kF32;
  bool has_nan = false;
};
struct Gradients {
  std::vector<float> y, dx, dweight, dbias;
};

class DroppedLinear : public RoundedResults {
 protected:
  Gradients gradients(const tensor::KernelTable& kernels, const Layer& layer) {
    tensor::Context context(kernels, memory_, tensor::DType::kF32, executor_);
    autograd::Tape tape;
    use(context, layer.type, &tape);
    Gradients made;
    context.step([&] {
      const Tensor input = matrix(context, layer.rows, layer.inputs, 1);
      if (layer.has_nan) {
        const float nan = NAN;
        memory_.copy_in(input.row_range(1, 2).data, &nan, sizeof nan);
      }
      const Variable x = variable(context, input);
      const Variable weight = variable(context, matrix(context, layer.outputs, layer.inputs, 2));
      const Variable bias = variable(context, matrix(context, 1, layer.outputs, 3));
      Variable y;
      for (int i = 0; i < 2; ++i) {  // so that the streams of random numbers show
        y = ops::dropped_linear(context, x, {weight, nullptr}, bias, layer.activation, 0.3);
        if (!y.rounded.empty()) expect_rounded(y, layer.type, "a dropped layer");
        autograd::seed_gradient(context, y, matrix(context, layer.rows, layer.outputs, 4));
      }
      tape.backward(context);
      made = {values_of<float>(y.value), values_of<float>(x.gradient->value), values_of<float>(weight.gradient->value),
              values_of<float>(bias.gradient->value)};
    });
    return made;
  }
  /// Expects the same bits, except for those of NaN.
  static void expect_same(const std::vector<float>& actual, const std::vector<float>& expected,
                          const std::string& what) {
    EXPECT_EQ(bits_of(actual), bits_of(expected)) << what;
  }
  static std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits;
    for (const float value : values)
      bits.push_back(std::isnan(value) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(value));
    return bits;
  }
};
INSTANTIATE_TEST_SUITE_P(Products, DroppedLinear, ::testing::Values(Steps::kRun, Steps::kReplay),
                         [](const auto& steps) {
                           return std::string(steps.param == Steps::kRun ? "plain" : "library");
                         });

TEST_P(DroppedLinear, HasTheBitsOfTwoOps) {
  tensor::KernelTable apart(backend_.kernels());
  apart.erase(ops::kDroppedLinear.name);
  for (const ComputeType type : {ComputeType::kBF16, ComputeType::kF16, ComputeType::kF32})
    for (const Activation activation : {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSwish,
                                        Activation::kTanh, Activation::kNone})
      for (Layer layer : {Layer{.rows = 5, .inputs = 32, .outputs = 64},
                          {.rows = 6, .inputs = 20, .outputs = 264},
                          {.rows = 3, .inputs = 7, .outputs = 12},
                          {.rows = 300, .inputs = 3, .outputs = 10},
                          {.rows = 4, .inputs = 8, .outputs = 32, .has_nan = true}}) {
        layer.activation = activation;
        layer.type = type;
        const Gradients together = gradients(backend_.kernels(), layer), composed = gradients(apart, layer);
        const std::string what = std::to_string(layer.outputs) + ", activation " +
                                 std::to_string(static_cast<int>(activation)) + " in " + std::string(name_of(type));
        expect_same(together.dx, composed.dx, what);
        expect_same(together.dweight, composed.dweight, what);
        expect_same(together.dbias, composed.dbias, what);
        // Without a dropout after it, GELU is the library's.
        if (activation != Activation::kGeluTanh || GetParam() == Steps::kRun) {
          expect_same(together.y, composed.y, what);
        } else if (!layer.has_nan) {
          EXPECT_THAT(together.y, ::testing::Pointwise(::testing::FloatNear(4e-6F), composed.y)) << what;
        }
      }
}

/// Two launches in place of four, and none for the dropout of the backward pass.
TEST_P(DroppedLinear, TakesOnePassForEachDirection) {
  const Layer layer{
      .rows = 5, .inputs = 32, .outputs = 64, .activation = Activation::kRelu, .type = ComputeType::kBF16};
  const auto launches = [&](std::string_view kernel) {
    const std::uint64_t before = testing::emulation::launches(kernel);
    gradients(backend_.kernels(), layer);
    return testing::emulation::launches(kernel) - before;
  };
  const bool is_plain = GetParam() == Steps::kRun;
  EXPECT_EQ(launches("DropTwoQuads"), is_plain ? 2 : 0) << "the plain kernel multiplies without the dropout";
  EXPECT_EQ(launches("FinishDroppedProduct"), is_plain ? 0 : 2);
}

}  // namespace
}  // namespace dragoman::backend::cuda::of_rounded_results
