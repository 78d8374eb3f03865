#include "dragoman/nn/layers.h"

#include "nn_harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::nn {
namespace {

using ::testing::ElementsAre;
using testing::random_rows;
using testing::ReferenceContext;
using testing::Rows;
using testing::rows_of;

/// x W^T + b with loops, W and b as the store has them.
Rows times(const Rows& x, const ParameterStore& store, const std::string& layer) {
  const Parameter& weight = *store.find(layer + ".weight");
  const Parameter* bias = store.find(layer + ".bias");
  Rows y(x.size(), std::vector<double>(static_cast<std::size_t>(weight.rows)));
  for (std::size_t t = 0; t < x.size(); ++t)
    for (std::int64_t n = 0; n < weight.rows; ++n) {
      double sum = bias == nullptr ? 0 : tensor::element(bias->value, 0, n);
      for (std::int64_t k = 0; k < weight.cols; ++k)
        sum += x[t][static_cast<std::size_t>(k)] * tensor::element(weight.value, n, k);
      y[t][static_cast<std::size_t>(n)] = sum;
    }
  return y;
}

double relu(double x) {
  return std::max(0.0, x);
}
double gelu(double x) {
  return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
}
double swish(double x) {
  return x / (1 + std::exp(-x));
}

class LayersTest : public ::testing::Test {
 protected:
  /// All parameters at random, vectors included: where ones and zeros are left, mistakes hide.
  void draw_parameters() {
    store_.allocate(tensor::host_memory(), tensor::DType::kF64, tensor::Device::kReference);
    std::uint64_t stream = 100;
    for (const Parameter& parameter : store_.all()) set(parameter, stream++);
  }
  static void set(const Parameter& parameter, std::uint64_t stream) {
    const Rows values =
        random_rows(static_cast<std::size_t>(parameter.rows), static_cast<std::size_t>(parameter.cols), stream);
    for (std::int64_t i = 0; i < parameter.rows; ++i)
      for (std::int64_t j = 0; j < parameter.cols; ++j)
        tensor::set_element(parameter.value, i, j, values[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
  }
  static void expect_near(const Variable& actual, const Rows& expected) {
    const Rows rows = rows_of(actual.value);
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i].size(), expected[i].size());
      for (std::size_t j = 0; j < rows[i].size(); ++j) EXPECT_NEAR(rows[i][j], expected[i][j], 1e-12) << i << ", " << j;
    }
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Parameter& parameter : store_.all()) names.push_back(parameter.name);
    return names;
  }

  ReferenceContext reference_;
  tensor::Context& context_ = reference_.context;
  ParameterStore store_;
  Scope scope_{store_, "layer"};
};

TEST_F(LayersTest, LinearMultipliesByItsWeightAndAddsItsBias) {
  const Linear with(scope_ / "with", 3, 5);
  const Linear without(scope_ / "without", 3, 5, {.bias = false});
  EXPECT_THAT(names(), ElementsAre("layer.with.weight", "layer.with.bias", "layer.without.weight"));
  EXPECT_EQ(store_.find("layer.with.weight")->rows, 5) << "outputs first, as PyTorch has it";
  EXPECT_TRUE(store_.find("layer.with.weight")->is_weight) << "so that it is packed";
  draw_parameters();
  const Rows x = random_rows(4, 3, 1);
  const Variable input{reference_.tensor(x), nullptr};
  expect_near(with(context_, input), times(x, store_, "layer.with"));
  expect_near(without(context_, input), times(x, store_, "layer.without"));
  Rows activated = times(x, store_, "layer.with");
  for (auto& row : activated)
    for (double& value : row) value = swish(value);
  expect_near(with(context_, input, ops::Activation::kSwish), activated);
}

/// Glorot's bound is that of one projection: three side by side must not start out smaller.
TEST_F(LayersTest, ProjectionsSideBySideBeginAsIfEachStoodAlone) {
  const Linear alone(scope_ / "alone", 6, 4);
  const Linear three(scope_ / "three", 6, 12, {.projections = 3});
  const Initialiser bound = store_.find("layer.alone.weight")->initialiser;
  EXPECT_DOUBLE_EQ(bound.value, std::sqrt(6.0 / (6 + 4)));
  EXPECT_EQ(store_.find("layer.three.weight")->initialiser.value, bound.value);
  EXPECT_EQ(store_.find("layer.three.weight")->initialiser.kind, Initialiser::Kind::kUniform);
}

TEST_F(LayersTest, LayerNormBeginsAsPlainNormalisation) {
  const LayerNorm norm(scope_, 4, 0);
  EXPECT_THAT(names(), ElementsAre("layer.weight", "layer.bias"));
  store_.allocate(tensor::host_memory(), tensor::DType::kF64, tensor::Device::kReference);
  store_.initialise(1);
  // Mean 5 and variance 5.
  const Variable x{reference_.tensor({{2, 4, 6, 8}}), nullptr};
  const double unit = 1 / std::sqrt(5.0);
  expect_near(norm(context_, x), {{-3 * unit, -unit, unit, 3 * unit}});
}

TEST_F(LayersTest, LayerNormOfAResidualReturnsTheSumToo) {
  constexpr double kEpsilon = 0.01;
  const LayerNorm norm(scope_, 5, kEpsilon);
  draw_parameters();
  const Rows residual = random_rows(3, 5, 1);
  const Rows x = random_rows(3, 5, 2);
  Rows sum = residual;
  Rows normalised = residual;
  for (std::size_t t = 0; t < 3; ++t) {
    double mean = 0, squares = 0;
    for (std::size_t j = 0; j < 5; ++j) mean += (sum[t][j] += x[t][j]) / 5;
    for (std::size_t j = 0; j < 5; ++j) squares += std::pow(sum[t][j] - mean, 2) / 5;
    for (std::size_t j = 0; j < 5; ++j)
      normalised[t][j] = (sum[t][j] - mean) / std::sqrt(squares + kEpsilon) *
                             tensor::element(store_.find("layer.weight")->value, 0, static_cast<std::int64_t>(j)) +
                         tensor::element(store_.find("layer.bias")->value, 0, static_cast<std::int64_t>(j));
  }
  const ops::ResidualNorm result =
      norm.after_residual(context_, {reference_.tensor(residual), nullptr}, {reference_.tensor(x), nullptr}, 0.5);
  expect_near(result.sum, sum);  // nothing is dropped outside of training
  expect_near(result.normalised, normalised);
  expect_near(norm(context_, result.sum), normalised);
}

TEST_F(LayersTest, FeedForwardIsTwoLinearsAroundAnActivation) {
  const FeedForward relu_layer(scope_ / "relu", 3, 7, {.activation = ops::Activation::kRelu}, 0);
  const FeedForward gelu_layer(scope_ / "gelu", 3, 7, {.activation = ops::Activation::kGelu}, 0);
  draw_parameters();
  const Rows x = random_rows(4, 3, 1);
  const Variable input{reference_.tensor(x), nullptr};
  const auto expected = [&](const std::string& name, double (*activation)(double)) {
    Rows inner = times(x, store_, "layer." + name + ".in");
    for (auto& row : inner)
      for (double& value : row) value = activation(value);
    return times(inner, store_, "layer." + name + ".out");
  };
  expect_near(relu_layer(context_, input), expected("relu", relu));
  expect_near(gelu_layer(context_, input), expected("gelu", gelu));
}

/// Shazeer 2020, eq. 6: out(act(x W) * (x V)); W is the first half of `in`, V the second.
TEST_F(LayersTest, AGatedFeedForwardMultipliesTwoProjections) {
  const FeedForward layer(scope_, 3, 7, {.activation = ops::Activation::kSwish, .gated = true}, 0);
  EXPECT_EQ(store_.find("layer.in.weight")->rows, 14);
  EXPECT_EQ(store_.find("layer.in.weight")->initialiser.value, std::sqrt(6.0 / (3 + 7)));
  draw_parameters();
  const Rows x = random_rows(4, 3, 1);
  const Rows both = times(x, store_, "layer.in");
  Rows inner(4, std::vector<double>(7));
  for (std::size_t t = 0; t < 4; ++t)
    for (std::size_t j = 0; j < 7; ++j) inner[t][j] = swish(both[t][j]) * both[t][7 + j];
  expect_near(layer(context_, {reference_.tensor(x), nullptr}), times(inner, store_, "layer.out"));
}

/// With identities for both weights, the output is the input after dropout.
TEST_F(LayersTest, FeedForwardDropsInTrainingOnlyAndScalesWhatIsKept) {
  constexpr std::int64_t kUnits = 200;
  const FeedForward layer(scope_, kUnits, kUnits, {.activation = ops::Activation::kRelu}, 0.25);
  store_.allocate(tensor::host_memory(), tensor::DType::kF64, tensor::Device::kReference);
  for (const char* name : {"layer.in.weight", "layer.out.weight"})
    for (std::int64_t i = 0; i < kUnits; ++i) tensor::set_element(store_.find(name)->value, i, i, 1);
  const Rows ones(1, std::vector<double>(kUnits, 1));
  const Variable x{reference_.tensor(ones), nullptr};
  expect_near(layer(context_, x), ones);

  autograd::training_mode(context_).set_training(true);
  autograd::training_mode(context_).set_random(1, 1);
  std::int64_t dropped = 0;
  const Rows y = rows_of(layer(context_, x).value);
  for (const double value : y[0]) {
    if (value == 0)
      ++dropped;
    else
      EXPECT_NEAR(value, 4.0 / 3, 1e-12);
  }
  // 200 draws of probability 1/4: five standard deviations to both sides.
  EXPECT_NEAR(static_cast<double>(dropped), 50, 5 * std::sqrt(200 * 0.25 * 0.75));
}

/// Central differences of a weighted sum of the outputs, for every parameter.
TEST_F(LayersTest, GradientsReachEveryParameter) {
  const LayerNorm norm(scope_ / "norm", 3, 1e-5);
  const FeedForward layer(scope_, 3, 4, {.activation = ops::Activation::kGelu, .gated = true}, 0);
  draw_parameters();
  store_.attach_gradients(tensor::host_memory());
  const Rows x = random_rows(4, 3, 1);
  const Rows weights = random_rows(4, 3, 2);
  const auto forward = [&] { return layer(context_, norm(context_, {reference_.tensor(x), nullptr})); };
  const auto weighted_sum = [&] {
    double sum = 0;
    context_.step([&] {
      const Rows y = rows_of(forward().value);
      for (std::size_t t = 0; t < 4; ++t)
        for (std::size_t j = 0; j < 3; ++j) sum += weights[t][j] * y[t][j];
    });
    return sum;
  };
  context_.step([&] {
    autograd::Tape tape;
    autograd::training_mode(context_).set_tape(&tape);
    store_.begin_gradients();
    autograd::seed_gradient(context_, forward(), reference_.tensor(weights));
    tape.backward(context_);
    autograd::training_mode(context_).set_tape(nullptr);
  });
  constexpr double kStep = 1e-6;
  for (const Parameter& parameter : store_.all()) {
    ASSERT_TRUE(parameter.gradient->written) << parameter.name;
    for (std::int64_t i = 0; i < parameter.rows; ++i)
      for (std::int64_t j = 0; j < parameter.cols; ++j) {
        const double value = tensor::element(parameter.value, i, j);
        tensor::set_element(parameter.value, i, j, value + kStep);
        const double above = weighted_sum();
        tensor::set_element(parameter.value, i, j, value - kStep);
        const double below = weighted_sum();
        tensor::set_element(parameter.value, i, j, value);
        EXPECT_NEAR(tensor::element(parameter.gradient->value, i, j), (above - below) / (2 * kStep), 1e-7)
            << parameter.name << " [" << i << ", " << j << "]";
      }
  }
}

}  // namespace
}  // namespace dragoman::nn
