// docs/concepts/numerics.md, against the reference backend, which computes by its letter.
#include "products/gemm.h"
#include "support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

#include <dragoman/backend_reference/install.h>
#include <dragoman/core/error.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/tensor/int8.h>

namespace dragoman::backend::cpu {
namespace {

using tensor::ComputeType;
using tensor::DType;
using tensor::StoredMatrix;

/// Rows that arithmetic may stumble over, as many as there are.
std::vector<float> awkward_rows(std::int64_t rows, std::int64_t cols) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = random_floats(rows * cols, 5);
  const auto fill = [&](std::int64_t row, float value) {
    if (row < rows) std::fill_n(values.begin() + row * cols, cols, value);
  };
  const auto set = [&](std::int64_t row, float value) {
    if (row < rows) values[static_cast<std::size_t>(row * cols + cols / 2)] = value;
  };
  fill(0, 3.5F);  // all are the largest
  fill(1, -3.5F);
  fill(2, 0);
  fill(3, -0.0F);
  fill(4, 1e-38F);  // below what counts
  fill(5, std::numeric_limits<float>::denorm_min());
  set(6, kInfinity);
  set(7, -kInfinity);
  set(8, std::numeric_limits<float>::quiet_NaN());
  set(9, std::numeric_limits<float>::max());
  fill(10, tensor::kLeastMaximum);
  set(11, 127.0F);  // ties between two numbers
  if (rows > 11)
    for (std::int64_t i = 0; i < cols; ++i)
      if (i != cols / 2) values[static_cast<std::size_t>(11 * cols + i)] = static_cast<float>(i % 200 - 100) + 0.5F;
  return values;
}

/// x * weight^T in double precision, in the same context as expect_linear() of the CPU.
class Reference {
 public:
  Reference() : table_(tensor::Device::kReference) { reference::install_kernels(table_); }

  std::vector<float> linear(std::int64_t rows, const std::vector<float>& x, const StoredMatrix& weight,
                            ComputeType type) {
    tensor::Context context(table_, tensor::host_memory(), DType::kF64, executor_);
    const auto packed = table_.get(ops::kPackWeight)(context, weight, type);
    std::vector<double> inputs(x.begin(), x.end());
    std::vector<double> outputs(static_cast<std::size_t>(rows * packed->rows()));
    const auto view = [](std::vector<double>& values, std::int64_t r, std::int64_t c) {
      return Tensor{values.data(), r, c, c, DType::kF64, tensor::Device::kReference};
    };
    ops::LinearArguments arguments;
    arguments.x = view(inputs, rows, packed->cols());
    arguments.packed = packed.get();
    arguments.y = view(outputs, rows, packed->rows());
    table_.get(ops::kLinear)(context, arguments);
    return {outputs.begin(), outputs.end()};
  }

  /// What the arguments' product would be in place of c, from floats.
  std::vector<double> matmul(ops::MatMulArguments arguments) {
    tensor::Context context(table_, tensor::host_memory(), DType::kF64, executor_);
    std::vector<double> a = doubles_of(arguments.a), b = doubles_of(arguments.b), c = doubles_of(arguments.c);
    for (const auto& [matrix, values] :
         {std::pair{&arguments.a, &a}, std::pair{&arguments.b, &b}, std::pair{&arguments.c, &c}})
      *matrix = {values->data(), matrix->rows, matrix->cols, matrix->cols, DType::kF64, tensor::Device::kReference};
    table_.get(ops::kMatMul)(context, arguments);
    return c;
  }

 private:
  static std::vector<double> doubles_of(const Tensor& matrix) {
    std::vector<double> values;
    for (std::int64_t r = 0; r < matrix.rows; ++r)
      values.insert(values.end(), matrix.row<float>(r), matrix.row<float>(r) + matrix.cols);
    return values;
  }

  tensor::KernelTable table_;
  core::SequentialExecutor executor_;
};

struct WeightShape {
  std::int64_t rows, outputs, inputs;
};
constexpr WeightShape kWeightShapes[] = {{1, 1, 1},     {13, 40, 24},  {37, 17, 33},
                                         {64, 96, 512}, {3, 4500, 40}, {300, 5, 7}};

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values)  // one NaN is as good as another
    bits.push_back(std::isnan(value) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<float> linear(Rig& rig, std::int64_t rows, const std::vector<float>& x, const StoredMatrix& weight,
                          ComputeType type) {
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, type);
  EXPECT_EQ(packed->type(), type);
  Matrix input(rows, weight.values.cols, x, 3);
  Matrix output(rows, weight.values.rows, 2);
  rig.run(ops::kLinear, ops::LinearArguments{.x = input, .packed = packed.get(), .y = output});
  EXPECT_TRUE(output.gaps_untouched());
  return output.values();
}

/// 0 if all is well: for processes that can only say a number.
int check_int8(ComputeType type) {
  Rig rig;
  Reference reference;
  for (const WeightShape& shape : kWeightShapes) {
    const std::vector<float> x = awkward_rows(shape.rows, shape.inputs);
    for (const bool awkward_weight : {false, true}) {
      Matrix weight(
          shape.outputs, shape.inputs,
          awkward_weight ? awkward_rows(shape.outputs, shape.inputs) : random_floats(shape.outputs * shape.inputs, 6));
      if (bits_of(linear(rig, shape.rows, x, weight, type)) != bits_of(reference.linear(shape.rows, x, weight, type)))
        return 1;
    }
  }
  return 0;
}

TEST(ComputeTypes, Int8HasTheBitsOfItsDefinition) {
  if (!sums_bytes_exactly()) GTEST_SKIP() << "this processor has int8 with 7 bits only";
  EXPECT_EQ(check_int8(ComputeType::kI8), 0);
}

TEST(ComputeTypes, NarrowInt8HasTheBitsOfItsDefinition) {
  EXPECT_EQ(check_int8(ComputeType::kI8Narrow), 0);
}

TEST(ComputeTypes, RoundedProductsAreCloseToTheTrueOne) {
  constexpr std::int64_t kRows = 20, kOutputs = 60, kInputs = 300;
  const std::vector<float> x = random_floats(kRows * kInputs, 1);
  Matrix weight(kOutputs, kInputs, random_floats(kOutputs * kInputs, 2));
  Rig rig;
  Reference reference;
  const std::vector<float> exact = reference.linear(kRows, x, weight, ComputeType::kF32);
  for (const auto& [type, allowed] : {std::pair(inference_type(tensor::ComputeChoice::kI8), 0.05),
                                      std::pair(ComputeType::kI8Narrow, 0.05), std::pair(ComputeType::kBF16, 0.02)}) {
    const std::vector<float> rounded = linear(rig, kRows, x, weight, type);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      error += std::pow(static_cast<double>(rounded[i]) - static_cast<double>(exact[i]), 2);
      size += std::pow(static_cast<double>(exact[i]), 2);
    }
    EXPECT_LT(std::sqrt(error / size), allowed) << name_of(type);
    EXPECT_GT(error, 0) << "nothing was rounded for " << name_of(type);
  }
}

/// Sums of products are in fp32 in an order that nobody promises: c * K * 2^-24 * sum |x w|.
int check_bf16() {
  Rig rig;
  Reference reference;
  for (const WeightShape& shape : kWeightShapes) {
    const std::vector<float> x = random_floats(shape.rows * shape.inputs, 7);
    Matrix weight(shape.outputs, shape.inputs, random_floats(shape.outputs * shape.inputs, 8));
    std::vector<float> magnitudes = x;
    for (float& value : magnitudes) value = std::fabs(value);
    Matrix absolute(shape.outputs, shape.inputs, weight.values());
    for (std::int64_t r = 0; r < shape.outputs; ++r)
      for (std::int64_t c = 0; c < shape.inputs; ++c) absolute.at(r, c) = std::fabs(absolute.at(r, c));
    const std::vector<float> actual = linear(rig, shape.rows, x, weight, ComputeType::kBF16);
    const std::vector<float> expected = reference.linear(shape.rows, x, weight, ComputeType::kBF16);
    const std::vector<float> size = reference.linear(shape.rows, magnitudes, absolute, ComputeType::kBF16);
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (!(std::fabs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])) <=
            2.0 * static_cast<double>(shape.inputs) * 0x1p-24 * static_cast<double>(size[i])))
        return 1;
  }
  return 0;
}

TEST(ComputeTypes, BF16IsWithinTheBoundOfItsDefinition) {
  EXPECT_EQ(check_bf16(), 0);
}

Matrix absolute_of(Matrix matrix) {
  std::vector<float> values = matrix.values();
  for (float& value : values) value = std::fabs(value);
  const Tensor shape = matrix;
  return {shape.rows, shape.cols, values};
}

/// The same of plain matrices, in all the forms that training multiplies them in.
int check_bf16_of_plain_matrices() {
  Rig rig(2);
  Reference reference;
  for (const WeightShape& shape : kWeightShapes)
    for (const int form : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const auto [m, n, k] = shape;
      const bool transpose_a = (form & 1) != 0, transpose_b = (form & 2) != 0, accumulate = (form & 4) != 0;
      const auto make = [](std::int64_t rows, std::int64_t cols, std::uint64_t seed, std::int64_t gap) {
        return Matrix(rows, cols, random_floats(rows * cols, seed), gap);
      };
      Matrix a = transpose_a ? make(k, m, 1, 3) : make(m, k, 1, 5);
      Matrix b = transpose_b ? make(n, k, 2, 1) : make(k, n, 2, 2);
      Matrix c = make(m, n, 3, 4);
      const std::vector<float> before = c.values();
      ops::MatMulArguments arguments{a, transpose_a, b, transpose_b, c, accumulate, ComputeType::kBF16};
      const std::vector<double> expected = reference.matmul(arguments);
      Matrix absolute_a = absolute_of(a);
      Matrix absolute_b = absolute_of(b);
      Matrix absolute_c = absolute_of(c);
      const std::vector<double> size = reference.matmul(
          {absolute_a, transpose_a, absolute_b, transpose_b, absolute_c, accumulate, ComputeType::kBF16});
      rig.run(ops::kMatMul, arguments);
      if (!c.gaps_untouched()) return 1;
      const std::vector<float> actual = c.values();
      for (std::size_t i = 0; i < actual.size(); ++i)
        if (!(std::fabs(static_cast<double>(actual[i]) - expected[i]) <=
              2.0 * static_cast<double>(k + 1) * 0x1p-24 * size[i]))
          return 1;
    }
  return 0;
}

TEST(ComputeTypes, BF16OfPlainMatricesIsWithinTheBoundOfItsDefinition) {
  EXPECT_EQ(check_bf16_of_plain_matrices(), 0);
}

/// AMX takes pairs of inputs; the second of the last pair is not that of the next row.
TEST(ComputeTypes, BF16OfPlainMatricesKeepsWhatIsNotFiniteInItsRow) {
  constexpr std::int64_t kRows = 5, kOutputs = 3, kInputs = 7;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      Matrix a = transpose_a ? Matrix(kInputs, kRows, random_floats(kRows * kInputs, 1))
                             : Matrix(kRows, kInputs, random_floats(kRows * kInputs, 1));
      Matrix b = transpose_b ? Matrix(kOutputs, kInputs, random_floats(kOutputs * kInputs, 2))
                             : Matrix(kInputs, kOutputs, random_floats(kOutputs * kInputs, 2));
      for (std::int64_t i = 0; i < kInputs; ++i)
        (transpose_a ? a.at(i, 2) : a.at(2, i)) = std::numeric_limits<float>::quiet_NaN();
      Matrix c(kRows, kOutputs);
      Rig rig;
      rig.run(ops::kMatMul, ops::MatMulArguments{a, transpose_a, b, transpose_b, c, false, ComputeType::kBF16});
      for (std::int64_t r = 0; r < kRows; ++r)
        for (std::int64_t n = 0; n < kOutputs; ++n) EXPECT_EQ(std::isnan(c.at(r, n)), r == 2) << r << ", " << n;
    }
}

TEST(ComputeTypes, PlainMatricesAreNotMultipliedInInt8) {
  Matrix a(2, 2, {1, 2, 3, 4}), c(2, 2);
  Rig rig;
  EXPECT_THROW(rig.run(ops::kMatMul, ops::MatMulArguments{a, false, a, false, c, false, ComputeType::kI8}),
               core::Error);
  EXPECT_THROW(rig.run(ops::kLinear, ops::LinearArguments{.x = a, .weight = a, .y = c, .type = ComputeType::kI8}),
               core::Error);
}

/// Where inputs, products and sums are exact, the result must be: what is rounded is the inputs and nothing else.
TEST(ComputeTypes, BF16RoundsToNearestEven) {
  const float next = std::bit_cast<float>(0x3F810000U);               // the bf16 number above 1
  const std::vector<float> values{std::bit_cast<float>(0x3F808000U),  // between 1 and next: 1 is even
                                  std::bit_cast<float>(0x3F808001U), std::bit_cast<float>(0x3F818000U),
                                  std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::max()};
  for (const std::int64_t inputs : {1, 2, 3, 34}) {
    std::vector<float> x(5 * static_cast<std::size_t>(inputs), 1.0F);
    for (std::size_t r = 0; r < 5; ++r) x[r * static_cast<std::size_t>(inputs)] = values[r];
    Matrix weight(1, inputs, std::vector<float>(static_cast<std::size_t>(inputs), 0));
    weight.at(0, 0) = 1;
    Rig rig;
    const std::vector<float> y = linear(rig, 5, x, weight, ComputeType::kBF16);
    EXPECT_EQ(y[0], 1) << inputs << " inputs";
    EXPECT_EQ(y[1], next);
    EXPECT_EQ(y[2], std::bit_cast<float>(0x3F820000U));
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_EQ(y[4], -std::numeric_limits<float>::infinity());
  }
}

/// Each in a process of its own, since oneDNN chooses its instructions once. What a processor does not have is left out
/// by oneDNN itself, so every machine tests what it can.
int check_process_held_to(const char* isa) {
  if (::setenv("DNNL_MAX_CPU_ISA", isa, 1) != 0) return 2;
  // Rounding and scaling are kernels of ours.
  if (std::string_view(isa) == "SSE41") limit_simd(SimdLevel::kBaseline);
  if (std::string_view(isa) == "AVX2") limit_simd(SimdLevel::kAvx2);
  const ComputeType int8 = inference_type(tensor::ComputeChoice::kI8);
  const bool vnni = std::string_view(isa) == "AVX512_CORE_VNNI" || std::string_view(isa) == "AVX512_CORE_BF16" ||
                    std::string_view(isa) == "AVX512_CORE_AMX";
  if (int8 == ComputeType::kI8 && !vnni) return 3;
  if (check_int8(int8) != 0) return 4;
  if (check_int8(ComputeType::kI8Narrow) != 0) return 5;
  if (check_bf16() != 0) return 6;
  if (check_bf16_of_plain_matrices() != 0) return 7;
  return 0;
}

class ComputeTypesDeathTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ComputeTypes, ComputeTypesDeathTest,
                         ::testing::Values("SSE41", "AVX2", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16",
                                           "AVX512_CORE_AMX"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(ComputeTypesDeathTest, AreTheSameWithAnyInstructions) {
#ifndef __x86_64__
  GTEST_SKIP() << "the names are those of x86-64";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(check_process_held_to(GetParam())), ::testing::ExitedWithCode(0), "");
}

/// A matrix of I8 with its scales.
struct QuantizedMatrix {
  QuantizedMatrix(std::int64_t rows, std::int64_t cols, const std::vector<float>& values)
      : numbers(static_cast<std::size_t>(rows * cols)), scales(static_cast<std::size_t>(rows)) {
    for (std::int64_t r = 0; r < rows; ++r)
      scales[static_cast<std::size_t>(r)] = tensor::quantize_row(
          std::span(values).subspan(static_cast<std::size_t>(r * cols), static_cast<std::size_t>(cols)),
          tensor::kWeightRange,
          std::span(numbers).subspan(static_cast<std::size_t>(r * cols), static_cast<std::size_t>(cols)));
    view = {{numbers.data(), rows, cols, cols, DType::kI8, tensor::Device::kCpu},
            {scales.data(), 1, rows, rows, DType::kF32, tensor::Device::kCpu}};
  }

  std::vector<std::int8_t> numbers;
  std::vector<float> scales;
  StoredMatrix view;
};

TEST(ComputeTypes, AStoredInt8WeightIsMultipliedAsItIsStored) {
  constexpr std::int64_t kRows = 9, kOutputs = 21, kInputs = 50;
  const std::vector<float> x = random_floats(kRows * kInputs, 1);
  const std::vector<float> values = random_floats(kOutputs * kInputs, 2);
  const QuantizedMatrix stored(kOutputs, kInputs, values);
  Matrix weight(kOutputs, kInputs, values);
  Rig rig;
  Reference reference;
  const ComputeType int8 = inference_type(tensor::ComputeChoice::kI8);
  EXPECT_EQ(linear(rig, kRows, x, stored.view, int8), linear(rig, kRows, x, weight, int8));
  EXPECT_EQ(linear(rig, kRows, x, stored.view, int8), reference.linear(kRows, x, stored.view, int8));
  // In fp32 it is what the numbers stand for.
  std::vector<float> meant;
  for (std::int64_t r = 0; r < kOutputs; ++r)
    for (std::int64_t c = 0; c < kInputs; ++c)
      meant.push_back(static_cast<float>(stored.numbers[static_cast<std::size_t>(r * kInputs + c)]) *
                      stored.scales[static_cast<std::size_t>(r)]);
  Matrix meant_weight(kOutputs, kInputs, meant);
  for (const ComputeType type : {ComputeType::kF32, ComputeType::kBF16})
    EXPECT_EQ(linear(rig, kRows, x, stored.view, type), linear(rig, kRows, x, meant_weight, type));
}

TEST(ComputeTypes, ATableMayBeStoredInAnyType) {
  constexpr std::int64_t kRows = 11, kCols = 37;
  const std::vector<float> values = random_floats(kRows * kCols, 3);
  const QuantizedMatrix int8(kRows, kCols, values);
  std::vector<std::uint16_t> halves, brains;
  std::vector<double> doubles_of(values.begin(), values.end());
  for (const float value : values) {
    halves.push_back(tensor::f32_to_f16(value));
    brains.push_back(tensor::f32_to_bf16(value));
  }
  const StoredMatrix tables[] = {
      int8.view,
      Tensor{doubles_of.data(), kRows, kCols, kCols, DType::kF64, tensor::Device::kCpu},
      Tensor{halves.data(), kRows, kCols, kCols, DType::kF16, tensor::Device::kCpu},
      Tensor{brains.data(), kRows, kCols, kCols, DType::kBF16, tensor::Device::kCpu},
  };
  const std::vector<std::int32_t> ids{3, 0, 10, 3};
  for (const StoredMatrix& table : tables) {
    Rig rig(2);
    Matrix y(4, kCols, 1);
    rig.run(ops::kEmbedding, ops::EmbeddingArguments{.ids = array(ids), .table = table, .scale = 2, .y = y});
    for (std::int64_t r = 0; r < 4; ++r)
      for (std::int64_t c = 0; c < kCols; ++c)
        ASSERT_EQ(y.at(r, c), static_cast<float>(2 * tensor::element(table, ids[static_cast<std::size_t>(r)], c)));
  }
}

TEST(ComputeTypes, WhatCannotBeSummedExactlyIsRefused) {
  Rig rig;
  const std::int64_t inputs = tensor::kMaxInt8Inputs + 1;
  Matrix weight(1, inputs, std::vector<float>(static_cast<std::size_t>(inputs), 1));
  EXPECT_THROW(linear(rig, 1, std::vector<float>(static_cast<std::size_t>(inputs)), weight, ComputeType::kI8Narrow),
               core::Error);
}

/// The longest sum of the largest products: 2^31 is near.
TEST(ComputeTypes, TheLongestSumIsExact) {
  const std::int64_t inputs = tensor::kMaxInt8Inputs;
  const std::vector<float> ones(static_cast<std::size_t>(inputs), 1);
  Matrix weight(2, inputs, [&] {
    std::vector<float> rows(ones);
    for (std::int64_t i = 0; i < inputs; ++i) rows.push_back(-1);
    return rows;
  }());
  Rig rig;
  Reference reference;
  const ComputeType int8 = inference_type(tensor::ComputeChoice::kI8);
  EXPECT_EQ(linear(rig, 1, ones, weight, int8), reference.linear(1, ones, weight, int8));
}

}  // namespace
}  // namespace dragoman::backend::cpu
