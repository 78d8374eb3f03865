#include "emulated_backend.h"
#include "kernels/kernels.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/ops/softmax_cross_entropy.h>

// The loss under a projection to the vocabulary by one kernel: near double precision whatever the size of a chunk, and
// of the same bytes in any order of threads.
namespace dragoman::backend::cuda::of_projection_loss {
namespace {

using testing::EmulatedCuda;
using testing::emulation::Order;
using Steps = testing::HiddenBackend::Steps;

constexpr std::array kTypes{ComputeType::kBF16, ComputeType::kF16, ComputeType::kF32};
constexpr double kScale = 0.25;

struct Shape {
  std::int64_t rows;
  std::int64_t width;
  std::int64_t vocabulary;
  double smoothing = 0.1;
  ComputeType type = ComputeType::kF32;
  std::int64_t chunk_rows = 0;
  bool accumulate = false;
};
struct Outcome {
  std::vector<double> losses, nlls;
  std::vector<float> dhidden, dweight, dbias;
  bool operator==(const Outcome&) const = default;
};
struct Wanted {
  bool gradients = true;
  bool dhidden = true;
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
std::vector<float> hidden_of(const Shape& shape) {
  return uniform_floats(shape.rows * shape.width, 1);
}
std::vector<float> weight_of(const Shape& shape) {
  return uniform_floats(shape.vocabulary * shape.width, 2);
}
std::vector<float> bias_of(const Shape& shape) {
  return uniform_floats(shape.vocabulary, 3);
}
/// Every fifth row has none.
std::vector<std::int32_t> targets_of(const Shape& shape) {
  std::mt19937_64 random(4);
  std::vector<std::int32_t> targets(static_cast<std::size_t>(shape.rows));
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = i % 5 == 4 ? ops::kNoTarget
                            : static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(shape.vocabulary));
  return targets;
}
Outcome earlier_of(const Shape& shape) {
  return {.losses = {},
          .nlls = {},
          .dhidden = std::vector<float>(hidden_of(shape).size(), 7),
          .dweight = uniform_floats(shape.vocabulary * shape.width, 6),
          .dbias = uniform_floats(shape.vocabulary, 7)};
}

double number_in(ComputeType type, double value) {
  const auto number = static_cast<float>(value);
  if (type == ComputeType::kBF16) return tensor::bf16_to_f32(tensor::f32_to_bf16(number));
  if (type == ComputeType::kF16) return tensor::f16_to_f32(tensor::f32_to_f16(number));
  return number;
}

/// In double precision, of rounded operands.
Outcome in_double_precision(const Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape.rows), width = static_cast<std::size_t>(shape.width),
             vocabulary = static_cast<std::size_t>(shape.vocabulary);
  std::vector<double> hidden, weight;
  for (const float value : hidden_of(shape)) hidden.push_back(number_in(shape.type, value));
  for (const float value : weight_of(shape)) weight.push_back(number_in(shape.type, value));
  const std::vector<float> bias = bias_of(shape);
  const std::vector<std::int32_t> targets = targets_of(shape);
  Outcome outcome = earlier_of(shape);
  const double kept = shape.accumulate ? 1 : 0;
  std::vector<double> dweight, dbias;
  for (const float value : outcome.dweight) dweight.push_back(kept * value);
  for (const float value : outcome.dbias) dbias.push_back(kept * value);
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<double> dhidden(width), logits(vocabulary);
    double sum = 0, mean = 0, loss = 0, nll = 0;
    for (std::size_t v = 0; v < vocabulary; ++v) {
      logits[v] = bias[v];
      for (std::size_t k = 0; k < width; ++k) logits[v] += hidden[r * width + k] * weight[v * width + k];
      sum += std::exp(logits[v]);
      mean += logits[v] / static_cast<double>(vocabulary);
    }
    if (targets[r] >= 0) {
      nll = std::log(sum) - logits[static_cast<std::size_t>(targets[r])];
      loss = (1 - shape.smoothing) * nll + shape.smoothing * (std::log(sum) - mean);
      for (std::size_t v = 0; v < vocabulary; ++v) {
        const double wanted = shape.smoothing / static_cast<double>(vocabulary) +
                              (v == static_cast<std::size_t>(targets[r]) ? 1 - shape.smoothing : 0);
        const double dlogit = kScale * (std::exp(logits[v]) / sum - wanted);
        dbias[v] += dlogit;
        for (std::size_t k = 0; k < width; ++k) {
          dhidden[k] += number_in(shape.type, dlogit) * weight[v * width + k];
          dweight[v * width + k] += number_in(shape.type, dlogit) * hidden[r * width + k];
        }
      }
    }
    outcome.losses.push_back(loss);
    outcome.nlls.push_back(nll);
    for (std::size_t k = 0; k < width; ++k) outcome.dhidden[r * width + k] = static_cast<float>(dhidden[k]);
  }
  outcome.dweight.assign(dweight.begin(), dweight.end());
  outcome.dbias.assign(dbias.begin(), dbias.end());
  return outcome;
}

/// With the plain kernels, and behind the seam of a library.
class ProjectionLoss : public ::testing::TestWithParam<Steps> {
 protected:
  void TearDown() override { testing::emulation::set_order(Order::kForward); }

  Outcome run(const Shape& shape, const Wanted& wanted = {}) {
    Outcome outcome = earlier_of(shape);
    autograd::training_mode(context_).set_training(true);
    context_.step([&] {
      const std::vector<std::int32_t> targets = targets_of(shape);
      const Tensor dhidden = matrix(shape.rows, shape.width, outcome.dhidden);
      const Tensor dweight = matrix(shape.vocabulary, shape.width, outcome.dweight);
      const Tensor dbias = matrix(1, shape.vocabulary, outcome.dbias);
      const auto doubles = [&] {
        return context_.arena().allocate(1, shape.rows, tensor::DType::kF64, context_.device());
      };
      const Tensor losses = doubles(), nlls = doubles();
      const auto target = [&](bool asked, const Tensor& value) {
        return ops::GradientTarget{asked ? value : Tensor{}, shape.accumulate};
      };
      kernel(context_, ops::ProjectionLossArguments{.hidden = matrix(shape.rows, shape.width, hidden_of(shape)),
                                                    .weight = matrix(shape.vocabulary, shape.width, weight_of(shape)),
                                                    .bias = matrix(1, shape.vocabulary, bias_of(shape)),
                                                    .targets = context_.indices(targets),
                                                    .label_smoothing = shape.smoothing,
                                                    .gradient_scale = wanted.gradients ? context_.upload_copy(kScale)
                                                                                       : tensor::DeviceArray<double>{},
                                                    .losses = losses,
                                                    .nlls = nlls,
                                                    .dhidden = wanted.gradients && wanted.dhidden ? dhidden : Tensor{},
                                                    .dweight = target(wanted.gradients && wanted.dweight, dweight),
                                                    .dbias = target(wanted.gradients && wanted.dbias, dbias),
                                                    .type = shape.type,
                                                    .chunk_rows = shape.chunk_rows});
      outcome = {values_of<double>(losses), values_of<double>(nlls), values_of<float>(dhidden),
                 values_of<float>(dweight), values_of<float>(dbias)};
    });
    return outcome;
  }

 private:
  Tensor matrix(std::int64_t rows, std::int64_t cols, const std::vector<float>& values) {
    const Tensor made = context_.allocate(rows, cols);
    context_.memory().copy_in(made.data, values.data(), values.size() * sizeof(float));
    return made;
  }
  template <class T>
  std::vector<T> values_of(const Tensor& x) {
    std::vector<T> values(static_cast<std::size_t>(x.size()));
    context_.memory().copy_out(values.data(), x.data, values.size() * sizeof(T));
    return values;
  }

  EmulatedCuda backend_{GetParam() == Steps::kRun ? "cuda" : "captured", GetParam()};
  core::SequentialExecutor executor_;
  Context context_{backend_.kernels(), backend_.memory(0), tensor::DType::kF32, executor_};
};
INSTANTIATE_TEST_SUITE_P(Products, ProjectionLoss, ::testing::Values(Steps::kRun, Steps::kReplay),
                         [](const auto& steps) {
                           return std::string(steps.param == Steps::kRun ? "plain" : "library");
                         });

void expect_near(const Outcome& actual, const Outcome& wanted, ComputeType type) {
  using ::testing::DoubleNear;
  using ::testing::FloatNear;
  using ::testing::Pointwise;
  EXPECT_THAT(actual.losses, Pointwise(DoubleNear(2e-5), wanted.losses));
  EXPECT_THAT(actual.nlls, Pointwise(DoubleNear(2e-5), wanted.nlls));
  // A number of the gradient may lie so near to a border that it is rounded to the other side.
  const float near = type == ComputeType::kBF16 ? 0x1p-8F : type == ComputeType::kF16 ? 0x1p-11F : 2e-5F;
  EXPECT_THAT(actual.dhidden, Pointwise(FloatNear(near), wanted.dhidden));
  EXPECT_THAT(actual.dweight, Pointwise(FloatNear(near), wanted.dweight));
  EXPECT_THAT(actual.dbias, Pointwise(FloatNear(2e-5F), wanted.dbias));
}

TEST_P(ProjectionLoss, IsNearDoublePrecision) {
  for (const ComputeType type : kTypes)
    for (Shape shape : {Shape{1, 1, 1}, Shape{3, 32, 7, 0}, Shape{17, 5, 130}, Shape{33, 3, 64}, Shape{5, 2, 1100}}) {
      SCOPED_TRACE(fmt::format("{} rows of {} to {} in {}", shape.rows, shape.width, shape.vocabulary, name_of(type)));
      shape.type = type;
      shape.accumulate = shape.rows % 2 == 1;
      expect_near(run(shape), in_double_precision(shape), type);
    }
}

/// Sizes of chunks decide about the order in which the gradients of weight and bias are added up, and about nothing
/// else; the last chunk is smaller, and columns of more than 256 rows are added up in parts.
TEST_P(ProjectionLoss, AgreesForAllSizesOfChunks) {
  for (const ComputeType type : kTypes) {
    Shape shape{.rows = 300, .width = 5, .vocabulary = 37, .type = type, .accumulate = true};
    const Outcome exact = in_double_precision(shape), whole = run(shape);
    for (const std::int64_t chunk_rows : {16, 128, 299, 300, 301}) {
      SCOPED_TRACE(fmt::format("chunks of {} in {}", chunk_rows, name_of(type)));
      shape.chunk_rows = chunk_rows;
      const Outcome chunks = run(shape);
      expect_near(chunks, exact, type);
      EXPECT_EQ(chunks.losses, whole.losses);
      EXPECT_EQ(chunks.nlls, whole.nlls);
      EXPECT_EQ(chunks.dhidden, whole.dhidden);
    }
  }
}

/// The weight is rounded once, hidden states once for the products of a chunk, and the gradient of the logits where it
/// is made.
TEST_P(ProjectionLoss, RoundsOnce) {
  Shape shape{.rows = 300, .width = 5, .vocabulary = 37, .type = ComputeType::kBF16, .chunk_rows = 100};
  run(shape);  // a library is asked
  const std::uint64_t before = testing::emulation::launches("NarrowRows");
  run(shape);
  EXPECT_EQ(testing::emulation::launches("NarrowRows") - before, 3 + 1);
}

TEST_P(ProjectionLoss, WritesOnlyWhatIsAskedFor) {
  for (const ComputeType type : kTypes) {
    const Shape shape{.rows = 33, .width = 17, .vocabulary = 65, .type = type};
    const Outcome all = run(shape), earlier = earlier_of(shape);
    for (int which = 0; which < 16; ++which) {
      const Wanted wanted{(which & 8) != 0, (which & 1) != 0, (which & 2) != 0, (which & 4) != 0};
      const Outcome some = run(shape, wanted);
      EXPECT_EQ(some.losses, all.losses) << which;
      EXPECT_EQ(some.nlls, all.nlls) << which;
      EXPECT_EQ(some.dhidden, (wanted.gradients && wanted.dhidden ? all : earlier).dhidden) << which;
      EXPECT_EQ(some.dweight, (wanted.gradients && wanted.dweight ? all : earlier).dweight) << which;
      EXPECT_EQ(some.dbias, (wanted.gradients && wanted.dbias ? all : earlier).dbias) << which;
    }
  }
}

TEST_P(ProjectionLoss, BytesDoNotDependOnTheOrderOfThreads) {
  for (const ComputeType type : kTypes) {
    const Shape shape{.rows = 300, .width = 3, .vocabulary = 150, .type = type, .chunk_rows = 260};
    const Outcome forward = run(shape);
    for (const Order order : {Order::kBackward, Order::kShuffled}) {
      testing::emulation::set_order(order, 5);
      EXPECT_EQ(run(shape), forward) << name_of(type);
    }
    testing::emulation::set_order(Order::kForward);
  }
}

}  // namespace
}  // namespace dragoman::backend::cuda::of_projection_loss
