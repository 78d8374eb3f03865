#include "products/gemm.h"

#include "support.h"

#include <cmath>

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl_config.h>
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#endif

#include <dragoman/ops/matmul.h>

namespace dragoman::backend::cpu {
namespace {

struct ProductShape {
  std::int64_t m, n, k;
};

/// op(x) as rows of doubles.
std::vector<double> operand(Matrix& x, bool transpose, std::int64_t rows, std::int64_t cols) {
  std::vector<double> result;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) result.push_back(static_cast<double>(transpose ? x.at(c, r) : x.at(r, c)));
  return result;
}

/// Numbers that a product in `type` takes as they are.
std::vector<float> factors(std::int64_t count, std::uint64_t seed, tensor::ComputeType type) {
  std::vector<float> result = random_floats(count, seed);
  if (type == tensor::ComputeType::kBF16)
    for (float& value : result) value = tensor::bf16_to_f32(tensor::f32_to_bf16(value));
  return result;
}

/// Compares op(a) op(b) (+ c) with sums in double precision. The error allowed is that of summing k products in any
/// order.
void expect_product(const ProductShape& shape, bool transpose_a, bool transpose_b, bool accumulate, int threads,
                    tensor::ComputeType type = tensor::ComputeType::kF32) {
  const auto [m, n, k] = shape;
  const std::vector<float> first = factors(m * k, 1, type);
  const std::vector<float> second = factors(n * k, 2, type);
  Matrix a = transpose_a ? Matrix(k, m, first, 3) : Matrix(m, k, first, 5);
  Matrix b = transpose_b ? Matrix(n, k, second, 1) : Matrix(k, n, second, 2);
  Matrix c = accumulate ? Matrix(m, n, random_floats(m * n, 3), 4) : Matrix(m, n, 4);
  const std::vector<float> before = c.values();
  const std::vector<double> left = operand(a, transpose_a, m, k);
  const std::vector<double> right = operand(b, transpose_b, k, n);
  Rig rig(threads);
  rig.run(ops::kMatMul, ops::MatMulArguments{a, transpose_a, b, transpose_b, c, accumulate, type});
  EXPECT_TRUE(c.gaps_untouched());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = accumulate ? static_cast<double>(before[static_cast<std::size_t>(i * n + j)]) : 0;
      double size = std::abs(sum);
      for (std::int64_t l = 0; l < k; ++l) {
        const double product = left[static_cast<std::size_t>(i * k + l)] * right[static_cast<std::size_t>(l * n + j)];
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(c.at(i, j), sum, 1e-6 * size)
          << "element (" << i << ", " << j << ") of " << m << " x " << n << " x " << k;
    }
}

TEST(MatMul, EqualsSumsInDoublePrecisionForAnyFormOfTheOperands) {
  for (const ProductShape& shape :
       {ProductShape{1, 1, 1}, {1, 17, 33}, {5, 1, 64}, {33, 18, 1}, {64, 48, 80}, {50, 7, 129}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const bool accumulate : {false, true}) expect_product(shape, transpose_a, transpose_b, accumulate, 1);
}

/// Sizes around those of panels (8 rows, 16 and 32 columns), of pairs and of chunks (512) of what is summed.
TEST(MatMul, EqualsSumsInDoublePrecisionInBf16) {
  for (const ProductShape& shape : {ProductShape{1, 1, 1},
                                    {8, 16, 2},
                                    {9, 33, 3},
                                    {7, 31, 32},
                                    {17, 50, 45},
                                    {16, 64, 511},
                                    {10, 20, 512},
                                    {33, 35, 515},
                                    {5, 300, 1030},
                                    {300, 9, 64}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const bool accumulate : {false, true})
          expect_product(shape, transpose_a, transpose_b, accumulate, 2, tensor::ComputeType::kBF16);
}

TEST(MatMul, EqualsSumsInDoublePrecisionWhereItIsSplitIntoBlocks) {
  expect_product({700, 130, 128}, false, true, false, 2);
  expect_product({260, 150, 500}, true, false, true, 2);
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) expect_product({40, 900, 300}, transpose_a, transpose_b, true, 2);
}

TEST(MatMul, AProductOverNothingIsZero) {
  Matrix a(3, 0, {}, 1);
  Matrix b(0, 4, {}, 1);
  Matrix c(3, 4, 2);
  Rig rig;
  rig.run(ops::kMatMul, ops::MatMulArguments{a, false, b, false, c, false});
  EXPECT_EQ(c.values(), std::vector<float>(12, 0.0F));
  EXPECT_TRUE(c.gaps_untouched());
}

TEST(MatMul, AddingAProductOverNothingChangesNothing) {
  const std::vector<float> values = random_floats(12, 5);
  Matrix a(3, 0, {}, 1);
  Matrix b(0, 4, {}, 1);
  Matrix c(3, 4, values);
  Rig rig;
  rig.run(ops::kMatMul, ops::MatMulArguments{a, false, b, false, c, true});
  EXPECT_EQ(c.values(), values);
}

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
TEST(Gemm, LeavesTheCallersOpenMpThreadCountAlone) {
  omp_set_num_threads(3);
  expect_product({8, 8, 8}, false, false, false, 1);
  EXPECT_EQ(omp_get_max_threads(), 3);
}
#endif

}  // namespace
}  // namespace dragoman::backend::cpu
