// The vector forms of exp, tanh, the normal distribution and so on against the C library in double precision, at every
// SIMD level.
#include "support.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/softmax.h>

namespace dragoman::backend::cpu {
namespace {

double gelu(double x) {
  return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}
double gelu_slope(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double swish(double x) {
  return x * sigmoid(x);
}
double swish_slope(double x) {
  return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
}

constexpr double kRootOfTwoOverPi = 0.79788456080286535588;
double gelu_tanh(double x) {
  // In this form nothing cancels for negative x.
  return x * sigmoid(2 * kRootOfTwoOverPi * (x + 0.044715 * x * x * x));
}
double gelu_tanh_slope(double x) {
  const double s = sigmoid(2 * kRootOfTwoOverPi * (x + 0.044715 * x * x * x));
  return s + x * s * (1 - s) * 2 * kRootOfTwoOverPi * (1 + 3 * 0.044715 * x * x);
}

/// Numbers of all sizes and both signs up to `limit`.
std::vector<float> numbers_up_to(float limit) {
  std::vector<float> values = {0.0F, -0.0F};
  for (float x = 1e-30F; x < 1e-3F; x *= 7) values.insert(values.end(), {x, -x});
  for (int i = 1; i <= 4001; ++i) {
    const float x = limit * static_cast<float>(i) / 4001;
    values.insert(values.end(), {x, -x});
  }
  return values;
}

struct Function {
  const char* name;
  ops::Activation activation;
  std::function<double(double)> value;
  std::function<double(double)> slope;
  float limit;
};

void PrintTo(const Function& function, std::ostream* out) {
  *out << function.name;
}

class ActivationAccuracy : public ::testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(
    ElementaryFunctions, ActivationAccuracy,
    ::testing::Values(Function{"gelu", ops::Activation::kGelu, gelu, gelu_slope, 13},
                      Function{"gelu_tanh", ops::Activation::kGeluTanh, gelu_tanh, gelu_tanh_slope, 8},
                      Function{"swish", ops::Activation::kSwish, swish, swish_slope, 80},
                      Function{"sigmoid", ops::Activation::kSigmoid, sigmoid,
                               [](double x) { return sigmoid(x) * sigmoid(-x); }, 80},
                      Function{"tanh", ops::Activation::kTanh, [](double x) { return std::tanh(x); },
                               [](double x) { return 1 - std::tanh(x) * std::tanh(x); }, 30}),
    [](const auto& test) { return test.param.name; });

/// Relative error where the result is a normal float; below that there are no digits to be right about.
void expect_close(float actual, double expected, double tolerance, float x, const char* what) {
  const double smallest = static_cast<double>(std::numeric_limits<float>::min());
  ASSERT_NEAR(actual, expected, tolerance * std::abs(expected) + smallest)
      << what << " of " << x << " at " << simd_level();
}

TEST_P(ActivationAccuracy, ValuesAreRightToAFewUnitsInTheLastPlace) {
  for (const SimdLevel level : kAllLevels) {
    const LevelScope scope(level);
    const std::vector<float> values = numbers_up_to(GetParam().limit);
    Matrix x(1, static_cast<std::int64_t>(values.size()), values);
    Matrix y(1, static_cast<std::int64_t>(values.size()));
    Rig rig;
    rig.run(ops::kActivation, ops::ActivationArguments{x, GetParam().activation, y});
    // exp(-x^2/2) doubles the relative error of its argument x^2/2 times: 85 x 2^-24 at the end of GELU's range. The
    // exponential of its approximation has an argument of up to 49, made of rounded products.
    const bool is_gelu =
        GetParam().activation == ops::Activation::kGelu || GetParam().activation == ops::Activation::kGeluTanh;
    const double tolerance = is_gelu ? 8e-6 : 6e-7;
    for (std::size_t i = 0; i < values.size(); ++i)
      expect_close(y.values()[i], GetParam().value(static_cast<double>(values[i])), tolerance, values[i],
                   GetParam().name);
  }
}

TEST_P(ActivationAccuracy, SlopesAreRight) {
  // In that of tanh-gelu a factor of up to 4 stands before 1 - tanh^2, whose digits cancel.
  const double bound = GetParam().activation == ops::Activation::kGeluTanh ? 2e-6 : 1e-6;
  for (const SimdLevel level : kAllLevels) {
    const LevelScope scope(level);
    const std::vector<float> values = numbers_up_to(8);
    const auto count = static_cast<std::int64_t>(values.size());
    Matrix x(1, count, values);
    Matrix y(1, count);
    Matrix dy(1, count, std::vector<float>(values.size(), 1.0F));
    Matrix dx(1, count);
    Rig rig;
    rig.run(ops::kActivation, ops::ActivationArguments{x, GetParam().activation, y});
    rig.run(ops::kActivationBackward, ops::ActivationBackwardArguments{x, y, GetParam().activation, dy, dx});
    const std::vector<float> slopes = dx.values();
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(slopes[i], GetParam().slope(static_cast<double>(values[i])), bound)
          << "slope of " << GetParam().name << " at " << values[i] << ", " << simd_level();
  }
}

TEST_P(ActivationAccuracy, NotANumberStaysVisible) {
  for (const SimdLevel level : kAllLevels) {
    const LevelScope scope(level);
    Matrix x(1, 20, std::vector<float>(20, std::numeric_limits<float>::quiet_NaN()));
    Matrix y(1, 20, std::vector<float>(20, 0.0F));
    Rig rig;
    rig.run(ops::kActivation, ops::ActivationArguments{x, GetParam().activation, y});
    for (const float value : y.values()) EXPECT_TRUE(std::isnan(value)) << simd_level();
  }
}

TEST(ElementaryFunctions, SoftmaxIsRightForAnyRowLength) {
  for (const SimdLevel level : kAllLevels) {
    const LevelScope scope(level);
    for (const std::int64_t cols : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 63, 64, 65, 100, 257}) {
      std::vector<float> values = random_floats(cols, static_cast<std::uint64_t>(cols));
      for (float& value : values) value *= 10;
      Matrix x(1, cols, values, 3);
      Matrix y(1, cols, 3);
      Rig rig;
      rig.run(ops::kSoftmax, ops::SoftmaxArguments{.x = x, .y = y});
      EXPECT_TRUE(y.gaps_untouched());
      double sum = 0;
      for (const float value : values) sum += std::exp(static_cast<double>(value));
      for (std::int64_t c = 0; c < cols; ++c) {
        const double expected = std::exp(static_cast<double>(x.at(0, c))) / sum;
        ASSERT_NEAR(y.at(0, c), expected, 4e-6 * expected) << cols << " columns at " << simd_level();
      }
    }
  }
}

TEST(ElementaryFunctions, SoftmaxOfVeryLargeAndVerySmallLogits) {
  Matrix x(1, 4, {3e38F, -3e38F, 3e38F, -std::numeric_limits<float>::infinity()});
  Matrix y(1, 4);
  Rig rig;
  rig.run(ops::kSoftmax, ops::SoftmaxArguments{.x = x, .y = y});
  EXPECT_EQ(y.values(), (std::vector<float>{0.5F, 0, 0.5F, 0}));
}

}  // namespace
}  // namespace dragoman::backend::cpu
