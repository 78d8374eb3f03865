#include "emulated_backend.h"
#include "kernels/kernels.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/linear.h>

// The way back through a linear layer in one pass: the bytes of the kernels that it could be composed of, in any order
// of threads, and near double precision.
namespace dragoman::backend::cuda {
namespace {

using ops::Activation;
using ops::LinearBackwardArguments;
using testing::EmulatedCuda;
using testing::emulation::Order;
using Steps = testing::HiddenBackend::Steps;

constexpr std::array kActivations{Activation::kNone,    Activation::kRelu, Activation::kGelu,    Activation::kSwish,
                                  Activation::kSigmoid, Activation::kTanh, Activation::kGeluTanh};
constexpr std::array kTypes{ComputeType::kBF16, ComputeType::kF16, ComputeType::kF32};

struct Layer {
  std::int64_t rows;
  std::int64_t inputs;
  std::int64_t outputs;
  Activation activation = Activation::kNone;
  ComputeType type = ComputeType::kBF16;
  bool accumulate = false;
};
struct Gradients {
  std::vector<float> dx, dweight, dbias;
  bool operator==(const Gradients&) const = default;
};
/// Which of them are asked for.
struct Wanted {
  bool dx = true;
  bool dweight = true;
  bool dbias = true;
};

std::vector<float> uniform_floats(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}
/// A layer's matrices, the same for all activations.
std::vector<float> x_of(const Layer& layer) {
  return uniform_floats(layer.rows * layer.inputs, 1);
}
std::vector<float> weight_of(const Layer& layer) {
  return uniform_floats(layer.outputs * layer.inputs, 2);
}
std::vector<float> z_of(const Layer& layer) {
  return uniform_floats(layer.rows * layer.outputs, 3);
}
std::vector<float> dy_of(const Layer& layer) {
  return uniform_floats(layer.rows * layer.outputs, 4);
}
Gradients earlier_of(const Layer& layer) {
  return {uniform_floats(layer.rows * layer.inputs, 5), uniform_floats(layer.outputs * layer.inputs, 6),
          uniform_floats(layer.outputs, 7)};
}

double activated(Activation activation, double z) {
  switch (activation) {
    case Activation::kRelu:
      return std::max(z, 0.0);
    case Activation::kGelu:
      return z * 0.5 * std::erfc(-z / std::sqrt(2.0));
    case Activation::kSwish:
      return z / (1 + std::exp(-z));
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kGeluTanh:
      return z / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (z + 0.044715 * z * z * z)));
    default:
      return z;
  }
}
double slope_of(Activation activation, double z) {
  constexpr double kStep = 1e-6;
  if (activation == Activation::kRelu) return z > 0 ? 1 : 0;
  return (activated(activation, z + kStep) - activated(activation, z - kStep)) / (2 * kStep);
}
double number_in(ComputeType type, double value) {
  const auto number = static_cast<float>(value);
  if (type == ComputeType::kBF16) return tensor::bf16_to_f32(tensor::f32_to_bf16(number));
  if (type == ComputeType::kF16) return tensor::f16_to_f32(tensor::f32_to_f16(number));
  return number;
}

/// In double precision, of rounded operands.
Gradients in_double_precision(const Layer& layer) {
  const auto& [rows, inputs, outputs, activation, type, accumulate] = layer;
  const auto x = x_of(layer), weight = weight_of(layer), z = z_of(layer), dy = dy_of(layer);
  const Gradients earlier = earlier_of(layer);
  std::vector<double> dx(x.size()), dweight(weight.size()), dbias(static_cast<std::size_t>(outputs));
  for (std::size_t t = 0; t < static_cast<std::size_t>(rows); ++t)
    for (std::size_t n = 0; n < dbias.size(); ++n) {
      const std::size_t place = t * dbias.size() + n;
      const double dz = dy[place] * slope_of(activation, z[place]);
      dbias[n] += dz;
      for (std::size_t k = 0; k < static_cast<std::size_t>(inputs); ++k) {
        const std::size_t of_x = t * static_cast<std::size_t>(inputs) + k;
        const std::size_t of_weight = n * static_cast<std::size_t>(inputs) + k;
        dx[of_x] += number_in(type, dz) * number_in(type, weight[of_weight]);
        dweight[of_weight] += number_in(type, dz) * number_in(type, x[of_x]);
      }
    }
  const auto added = [&](const std::vector<double>& made, std::vector<float> to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<float>(made[i] + (accumulate ? static_cast<double>(to[i]) : 0.0));
    return to;
  };
  return {added(dx, earlier.dx), added(dweight, earlier.dweight), added(dbias, earlier.dbias)};
}

/// What ops::linear() does where there is no such kernel.
void composite(Context& context, const LinearBackwardArguments& arguments) {
  const auto& [x, weight, activation, z, y, dy, dx, dweight, dbias, type, rounded_x] = arguments;
  Tensor dz = dy;
  if (activation != Activation::kNone) {
    dz = context.allocate(dy.rows, dy.cols);
    kernel(context, ops::ActivationBackwardArguments{z, y, activation, dy, dz, false});
  }
  if (!dx.value.empty()) kernel(context, ops::MatMulArguments{dz, false, weight, false, dx.value, dx.accumulate, type});
  if (!dweight.value.empty())
    kernel(context, ops::MatMulArguments{dz, true, x, false, dweight.value, dweight.accumulate, type});
  if (!dbias.value.empty()) kernel(context, ops::ColumnSumArguments{dz, dbias.value, dbias.accumulate});
}
void in_one_pass(Context& context, const LinearBackwardArguments& arguments) {
  kernel(context, arguments);
}

/// With the plain kernels, and behind the seam of a library.
class LinearBackward : public ::testing::TestWithParam<Steps> {
 protected:
  void TearDown() override { testing::emulation::set_order(Order::kForward); }

  template <class Function>
  Gradients run(const Function& function, const Layer& layer, const Wanted& wanted = {}) {
    Gradients gradients;
    autograd::training_mode(context_).set_training(true);
    context_.step([&] {
      const auto& [rows, inputs, outputs, activation, type, accumulate] = layer;
      const std::vector<float> z = z_of(layer);
      std::vector<float> y;
      for (const float value : z) y.push_back(static_cast<float>(activated(activation, value)));
      const Tensor kept_z = ops::needs_input(activation) ? matrix(rows, outputs, z) : Tensor{};
      // As the gradient of a slice: a part of wider rows.
      const Tensor wide = context_.allocate(rows + 1, outputs + 3);
      const Tensor dy = wide.row_range(1, rows + 1).col_range(2, outputs + 2);
      kernel(context_, ops::ScaleArguments{.x = matrix(rows, outputs, dy_of(layer)), .y = dy});
      Gradients earlier = earlier_of(layer);
      const Tensor dx = matrix(rows, inputs, earlier.dx);
      const Tensor dweight = matrix(outputs, inputs, earlier.dweight);
      const Tensor dbias = matrix(1, outputs, earlier.dbias);
      const auto target = [&, accumulate = accumulate](bool asked, const Tensor& value) {
        return ops::GradientTarget{asked ? value : Tensor{}, accumulate};
      };
      function(context_, LinearBackwardArguments{.x = matrix(rows, inputs, x_of(layer)),
                                                 .weight = matrix(outputs, inputs, weight_of(layer)),
                                                 .activation = activation,
                                                 .pre_activation = kept_z,
                                                 .y = matrix(rows, outputs, y),
                                                 .dy = dy,
                                                 .dx = target(wanted.dx, dx),
                                                 .dweight = target(wanted.dweight, dweight),
                                                 .dbias = target(wanted.dbias, dbias),
                                                 .type = type});
      gradients = {values_of(dx), values_of(dweight), values_of(dbias)};
    });
    return gradients;
  }

  EmulatedCuda backend_{GetParam() == Steps::kRun ? "cuda" : "captured", GetParam()};
  core::SequentialExecutor executor_;
  Context context_{backend_.kernels(), backend_.memory(0), tensor::DType::kF32, executor_};

 private:
  Tensor matrix(std::int64_t rows, std::int64_t cols, const std::vector<float>& values) {
    const Tensor made = context_.allocate(rows, cols);
    context_.memory().copy_in(made.data, values.data(), values.size() * sizeof(float));
    return made;
  }
  std::vector<float> values_of(const Tensor& x) {
    std::vector<float> values(static_cast<std::size_t>(x.size()));
    context_.memory().copy_out(values.data(), x.data, values.size() * sizeof(float));
    return values;
  }
};
INSTANTIATE_TEST_SUITE_P(Products, LinearBackward, ::testing::Values(Steps::kRun, Steps::kReplay),
                         [](const auto& steps) {
                           return std::string(steps.param == Steps::kRun ? "plain" : "library");
                         });

const std::vector<Layer> kShapes{{1, 1, 1}, {3, 17, 33}, {33, 3, 130}, {17, 130, 3}, {0, 4, 3}};

TEST_P(LinearBackward, HasTheBytesOfItsComposite) {
  for (Layer layer : kShapes)
    for (const Activation activation : kActivations)
      for (const ComputeType type : kTypes)
        for (const bool accumulate : {false, true}) {
          layer = {layer.rows, layer.inputs, layer.outputs, activation, type, accumulate};
          EXPECT_EQ(run(in_one_pass, layer), run(composite, layer))
              << layer.rows << " x " << layer.outputs << ", activation " << static_cast<int>(activation) << " in "
              << name_of(type);
        }
}

/// More rows than are added up at a time.
TEST_P(LinearBackward, HasTheBytesOfItsCompositeForManyRows) {
  for (const std::int64_t rows : {256, 257, 545})
    for (const Activation activation : {Activation::kNone, Activation::kGelu}) {
      const Layer layer{rows, 3, 66, activation, ComputeType::kBF16, true};
      EXPECT_EQ(run(in_one_pass, layer), run(composite, layer)) << rows;
    }
}

/// A number of dz may lie so near to a border that it is rounded to the other side.
TEST_P(LinearBackward, IsNearDoublePrecision) {
  for (Layer layer : kShapes)
    for (const Activation activation : kActivations)
      for (const ComputeType type : kTypes) {
        layer = {layer.rows, layer.inputs, layer.outputs, activation, type, !layer.accumulate};
        const Gradients actual = run(in_one_pass, layer), wanted = in_double_precision(layer);
        const float near = type == ComputeType::kBF16 ? 0x1p-7F : type == ComputeType::kF16 ? 0x1p-10F : 2e-5F;
        EXPECT_THAT(actual.dx, ::testing::Pointwise(::testing::FloatNear(near), wanted.dx)) << name_of(type);
        EXPECT_THAT(actual.dweight, ::testing::Pointwise(::testing::FloatNear(near), wanted.dweight)) << name_of(type);
        EXPECT_THAT(actual.dbias, ::testing::Pointwise(::testing::FloatNear(2e-5F), wanted.dbias)) << name_of(type);
      }
}

TEST_P(LinearBackward, WritesOnlyWhatIsAskedFor) {
  for (const ComputeType type : kTypes)
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      const Layer layer{33, 17, 65, activation, type};
      const Gradients all = run(in_one_pass, layer), earlier = earlier_of(layer);
      for (int which = 0; which < 8; ++which) {
        const Wanted wanted{(which & 1) != 0, (which & 2) != 0, (which & 4) != 0};
        const Gradients some = run(in_one_pass, layer, wanted);
        EXPECT_EQ(some.dx, (wanted.dx ? all : earlier).dx) << which;
        EXPECT_EQ(some.dweight, (wanted.dweight ? all : earlier).dweight) << which;
        EXPECT_EQ(some.dbias, (wanted.dbias ? all : earlier).dbias) << which;
      }
    }
}

TEST_P(LinearBackward, BytesDoNotDependOnTheOrderOfThreads) {
  for (const ComputeType type : kTypes) {
    const Layer layer{300, 17, 70, Activation::kSwish, type};
    const Gradients forward = run(in_one_pass, layer);
    for (const Order order : {Order::kBackward, Order::kShuffled}) {
      testing::emulation::set_order(order, 5);
      EXPECT_EQ(run(in_one_pass, layer), forward) << name_of(type);
    }
    testing::emulation::set_order(Order::kForward);
  }
}

}  // namespace
}  // namespace dragoman::backend::cuda
