#include "op_harness.h"

#include <dragoman/core/error.h>
#include <dragoman/ops/matmul.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;

struct ProductSize {
  std::int64_t m;
  std::int64_t k;
  std::int64_t n;
  bool large = false;
};

std::vector<OpCase> matmul_cases() {
  std::vector<OpCase> result;
  for (const ProductSize& size :
       {ProductSize{1, 1, 1}, ProductSize{1, 5, 3}, ProductSize{4, 3, 1}, ProductSize{5, 7, 6}, ProductSize{3, 17, 9},
        ProductSize{0, 4, 3}, ProductSize{130, 65, 97, true}, ProductSize{257, 130, 70, true}}) {
    const std::string name = std::to_string(size.m) + "x" + std::to_string(size.k) + "x" + std::to_string(size.n);
    result.push_back({.name = "plain_" + name,
                      .operands = {{size.m, size.k}, {size.k, size.n}},
                      .run = [](Context& c, Operands x) { return std::vector{ops::matmul(c, x[0], x[1])}; },
                      .finite_differences = !size.large});
    result.push_back({.name = "transposed_" + name,
                      .operands = {{size.m, size.k}, {size.n, size.k}},
                      .run = [](Context& c, Operands x) { return std::vector{ops::matmul(c, x[0], x[1], true)}; },
                      .finite_differences = !size.large});
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(MatMul, OpTest, ::testing::ValuesIn(matmul_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(MatMul, OpGradientTest, ::testing::ValuesIn(small(matmul_cases())), case_name);

class MatMulTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(MatMul, MatMulTest, kAllDevices, device_name);

TEST_P(MatMulTest, MultipliesByHand) {
  Rig rig(GetParam());
  const Variable a = rig.constant(2, 3, std::vector<double>{1, 2, 3, 4, 5, 6});
  const Variable b = rig.constant(3, 2, std::vector<double>{7, 8, 9, 10, 11, 12});
  EXPECT_EQ(values_of(ops::matmul(rig.context(), a, b).value), (std::vector<double>{58, 64, 139, 154}));
}

TEST_P(MatMulTest, EveryCombinationOfTransposesAndAccumulation) {
  Rig rig(GetParam());
  const std::vector<double> a{1, 2, 3, 4, 5, 6};
  const std::vector<double> a_transposed{1, 4, 2, 5, 3, 6};
  const std::vector<double> b{7, 8, 9, 10, 11, 12};
  const std::vector<double> b_transposed{7, 9, 11, 8, 10, 12};
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const bool accumulate : {false, true}) {
        const Tensor left = transpose_a ? rig.matrix(3, 2, a_transposed) : rig.matrix(2, 3, a);
        const Tensor right = transpose_b ? rig.matrix(2, 3, b_transposed) : rig.matrix(3, 2, b);
        const Tensor c = rig.matrix(2, 2, std::vector<double>{1, 2, 3, 4});
        rig.context().kernels().get(ops::kMatMul)(rig.context(),
                                                  {left, transpose_a, right, transpose_b, c, accumulate});
        const std::vector<double> product{58, 64, 139, 154};
        const std::vector<double> sum{59, 66, 142, 158};
        EXPECT_EQ(values_of(c), accumulate ? sum : product) << transpose_a << transpose_b << accumulate;
      }
}

TEST_P(MatMulTest, AnEmptyInnerSizeGivesZeros) {
  Rig rig(GetParam());
  const Variable y = ops::matmul(rig.context(), rig.constant(2, 0, {}), rig.constant(0, 3, {}));
  EXPECT_EQ(values_of(y.value), std::vector<double>(6, 0.0));
}

TEST_P(MatMulTest, RefusesInnerSizesThatDiffer) {
  Rig rig(GetParam());
  const Variable a = rig.constant(2, 3, std::vector<double>(6, 1.0));
  EXPECT_THROW(ops::matmul(rig.context(), a, a), core::Error);
  EXPECT_NO_THROW(ops::matmul(rig.context(), a, a, true));
}

TEST(ReferenceBackend, ComputesWithDoublesOnly) {
  Rig cpu(Device::kCpu);
  Rig reference(Device::kReference);
  const Tensor floats = cpu.matrix(2, 2, std::vector<double>(4, 1.0));
  try {
    reference.context().kernels().get(ops::kMatMul)(reference.context(), {floats, false, floats, false, floats, false});
    FAIL() << "F32 was accepted";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("matmul"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("F32"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dragoman::testing
