#include "bytes/byte_matmul.h"

#include "layers/bias_activation.h"
#include "products/gemm.h"
#include "simd/tile_registers.h"
#include "test_names.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dragoman/tensor/arena.h>

namespace dragoman::backend::cpu {
namespace {

/// Where weights lie between -127 and 127.
enum class Weights : std::uint8_t { kUniform, kSmall, kLargest, kNegative, kLowest };

std::vector<std::int8_t> weights_of(const ByteShape& shape, std::int64_t stride, Weights kind) {
  std::mt19937 random(static_cast<unsigned>(shape.outputs * 1000 + shape.inputs));
  std::normal_distribution<double> normal(0, 30);
  std::vector<std::int8_t> weights(static_cast<std::size_t>(shape.outputs * stride));
  for (std::int8_t& weight : weights) switch (kind) {
      case Weights::kUniform:
        weight = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
        break;
      case Weights::kSmall:
        weight = static_cast<std::int8_t>(std::clamp(normal(random), -127.0, 127.0));
        break;
      case Weights::kLargest:
        weight = 127;
        break;
      case Weights::kNegative:
        weight = -127;
        break;
      case Weights::kLowest:
        weight = random() % 3 == 0 ? -128 : 64;
        break;
    }
  return weights;
}

/// Up to `largest`, often just that.
std::vector<std::uint8_t> rows_of(std::int64_t count, int largest) {
  std::mt19937 random(7);
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(count));
  for (std::uint8_t& number : rows) number = static_cast<std::uint8_t>(random() % 2 == 0 ? largest : random() % 128);
  return rows;
}

std::vector<std::int32_t> expected_product(const ByteShape& shape, const std::vector<std::int8_t>& weights,
                                           std::int64_t stride, const std::vector<std::uint8_t>& x, std::int64_t rows) {
  std::vector<std::int32_t> y;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < shape.outputs; ++n) {
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < shape.inputs; ++k)
        sum += x[static_cast<std::size_t>(r * shape.inputs + k)] * weights[static_cast<std::size_t>(n * stride + k)];
      y.push_back(sum);
    }
  return y;
}

enum class Kernel : std::uint8_t { kPaired, kVnni, kTiles, kPlain };

struct Case {
  Kernel kernel;
  ByteShape shape;
};

std::string test_name(const Case& tried) {
  const std::string kernels[] = {"paired", "vnni", "tiles", "plain"};
  return fmt::format("{}_{}x{}", kernels[static_cast<std::size_t>(tried.kernel)], tried.shape.outputs,
                     tried.shape.inputs);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Kernel kernel : {Kernel::kPaired, Kernel::kVnni})
    for (const ByteShape& shape : {ByteShape{1, 4}, ByteShape{8, 8}, ByteShape{17, 12}, ByteShape{32, 128},
                                   ByteShape{40, 516}, ByteShape{50, 260}, ByteShape{9, 2048}, ByteShape{113, 64}})
      all.push_back({kernel, shape});
  for (const ByteShape& shape : {ByteShape{1, 64}, ByteShape{16, 64}, ByteShape{17, 192}, ByteShape{32, 128},
                                 ByteShape{48, 512}, ByteShape{63, 320}, ByteShape{9, 2048}, ByteShape{113, 64}})
    all.push_back({Kernel::kTiles, shape});
  for (const ByteShape& shape : {ByteShape{1, 1}, ByteShape{17, 7}, ByteShape{32, 128}, ByteShape{40, 515}})
    all.push_back({Kernel::kPlain, shape});
  return all;
}

class OwnByteMatmul : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (kernel() == Kernel::kPlain) return;
#ifdef __x86_64__
    if (kernel() == Kernel::kPaired && __builtin_cpu_supports("avx2") == 0)
      GTEST_SKIP() << "this processor has no AVX2";
    if (kernel() == Kernel::kVnni && __builtin_cpu_supports("avx512vnni") == 0)
      GTEST_SKIP() << "this processor has no AVX-512 VNNI";
    if (kernel() == Kernel::kTiles && (byte_instructions() != ByteInstructions::kTiles || !may_use_tiles()))
      GTEST_SKIP() << "this processor has no AMX";
#else
    GTEST_SKIP() << "for x86-64";
#endif
  }

  static ByteShape shape() {
    return GetParam().shape;
  }
  static Kernel kernel() {
    return GetParam().kernel;
  }
  static const ByteMatmul& matmul() {
    switch (kernel()) {
      case Kernel::kPaired:
        return paired_matmul();
      case Kernel::kVnni:
        return vnni_matmul();
      case Kernel::kTiles:
        return tile_matmul();
      case Kernel::kPlain:
        return plain_matmul();
    }
    std::abort();
  }
  /// The largest number of x.
  static int largest() {
    return kernel() == Kernel::kPaired ? 127 : 255;
  }

  static std::vector<std::int32_t> product(const void* packed, const std::vector<std::uint8_t>& x, std::int64_t rows) {
    std::vector<std::int32_t> y(static_cast<std::size_t>(rows * shape().outputs), -1);
    matmul().multiply(shape(), packed, {0, shape().outputs}, x.data(), rows, y.data());
    return y;
  }
};

TEST_P(OwnByteMatmul, IsExactForAnyWeightAndRowCount) {
  const std::int64_t stride = shape().inputs + 3;
  const tensor::Buffer packed(tensor::host_memory(), matmul().bytes(shape()));
  for (const Weights kind :
       {Weights::kUniform, Weights::kSmall, Weights::kLargest, Weights::kNegative, Weights::kLowest}) {
    const std::vector<std::int8_t> weights = weights_of(shape(), stride, kind);
    matmul().pack(shape(), weights.data(), stride, packed.data());
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 49, 64, 85, 95}) {
      const std::vector<std::uint8_t> x = rows_of(rows * shape().inputs, largest());
      EXPECT_EQ(product(packed.data(), x, rows), expected_product(shape(), weights, stride, x, rows))
          << rows << " rows, weights of kind " << static_cast<int>(kind);
    }
  }
}

TEST_P(OwnByteMatmul, ConvertsSumsAsTheSeparatePassDoes) {
  if (!matmul().finishes()) GTEST_SKIP() << "this kernel computes sums only";
  const std::int64_t outputs = shape().outputs;
  const auto weights = weights_of(shape(), shape().inputs, Weights::kUniform);
  const tensor::Buffer packed(tensor::host_memory(), matmul().bytes(shape()));
  matmul().pack(shape(), weights.data(), shape().inputs, packed.data());
  std::mt19937 random(3);
  std::vector<float> col_scales(static_cast<std::size_t>(outputs));
  std::vector<float> bias(col_scales.size());
  std::vector<std::int32_t> zero_sums(col_scales.size());
  for (float& scale : col_scales) scale = std::uniform_real_distribution<float>(-1, 1)(random);
  for (float& value : bias) value = std::uniform_real_distribution<float>(-9999, 9999)(random);
  for (std::int32_t& sum : zero_sums) sum = static_cast<std::int32_t>(random() % 9999);
  for (const std::int64_t rows : {0, 1, 2, 15, 16, 17, 31, 32, 33, 40, 63, 84, 255, 256})
    for (const float* added : {static_cast<const float*>(nullptr), static_cast<const float*>(bias.data())})
      for (const auto activation : {ops::Activation::kNone, ops::Activation::kRelu}) {
        std::vector<float> row_scales(static_cast<std::size_t>(rows));
        for (float& scale : row_scales) scale = std::uniform_real_distribution<float>(0, 1)(random);
        if (rows > 1) row_scales[1] = std::numeric_limits<float>::quiet_NaN();
        const auto x = rows_of(rows * shape().inputs, largest());
        const Dequantization dequantization{row_scales.data(), col_scales.data(), zero_sums.data()};
        // The element after each row, and the row after the last, must stay as they are.
        const std::int64_t stride = outputs + 1;
        std::vector<float> y(static_cast<std::size_t>((rows + 1) * stride), 77);
        std::vector<float> expected = y;
        matmul().multiply_and_finish(shape(), packed.data(), x.data(), rows,
                                     {dequantization, added, activation == ops::Activation::kRelu, y.data(), stride});
        const auto sums = expected_product(shape(), weights, shape().inputs, x, rows);
        bias_activation_rows({.x = reinterpret_cast<const float*>(sums.data()),
                              .x_stride = outputs,
                              .dequantization = dequantization,
                              .bias = added,
                              .activation = activation,
                              .y = expected.data(),
                              .y_stride = stride,
                              .rows = rows,
                              .cols = outputs});
        EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0) << rows << " rows";
      }
}

TEST_P(OwnByteMatmul, MultipliesPartsOfTheOutputsByThemselves) {
  const tensor::Buffer packed(tensor::host_memory(), matmul().bytes(shape()));
  const std::vector<std::int8_t> weights = weights_of(shape(), shape().inputs, Weights::kUniform);
  matmul().pack(shape(), weights.data(), shape().inputs, packed.data());
  for (const std::int64_t rows : {1, 4, 9, 33, 50}) {
    const std::vector<std::uint8_t> x = rows_of(rows * shape().inputs, largest());
    const auto whole = expected_product(shape(), weights, shape().inputs, x, rows);
    for (std::int64_t first = 0; first < shape().outputs; first += kByteOutputUnit)
      for (std::int64_t end = std::min(first + kByteOutputUnit, shape().outputs);;
           end = std::min(end + kByteOutputUnit, shape().outputs)) {
        const std::int64_t count = end - first;
        // What lies behind the product stays.
        std::vector<std::int32_t> y(static_cast<std::size_t>(rows * count + 1), -1);
        matmul().multiply(shape(), packed.data(), {first, count}, x.data(), rows, y.data());
        EXPECT_EQ(y.back(), -1);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t n = 0; n < count; ++n)
            ASSERT_EQ(y[static_cast<std::size_t>(r * count + n)],
                      whole[static_cast<std::size_t>(r * shape().outputs + first + n)])
                << "row " << r << " of " << rows << ", output " << first + n;
        if (end == shape().outputs) break;
      }
  }
}

TEST_P(OwnByteMatmul, CopiesOutputsAnywhere) {
  const ByteShape from_shape{3 * shape().outputs + 5, shape().inputs};
  const std::vector<std::int8_t> weights = weights_of(from_shape, shape().inputs, Weights::kUniform);
  const tensor::Buffer from(tensor::host_memory(), matmul().bytes(from_shape));
  matmul().pack(from_shape, weights.data(), shape().inputs, from.data());
  const tensor::Buffer to(tensor::host_memory(), matmul().bytes(shape()));
  matmul().pack_zeros(shape(), to.data());
  std::vector<std::int8_t> copied;
  for (std::int64_t n = 0; n < shape().outputs; ++n) {
    const std::int64_t output = (n * 7 + 2) % from_shape.outputs;
    matmul().copy(from_shape, from.data(), output, shape(), to.data(), n);
    const auto* row = weights.data() + output * shape().inputs;
    copied.insert(copied.end(), row, row + shape().inputs);
  }
  const std::vector<std::uint8_t> x = rows_of(5 * shape().inputs, largest());
  EXPECT_EQ(product(to.data(), x, 5), expected_product(shape(), copied, shape().inputs, x, 5));
}

INSTANTIATE_TEST_SUITE_P(Kernels, OwnByteMatmul, ::testing::ValuesIn(cases()), testing::kParameterName);

}  // namespace
}  // namespace dragoman::backend::cpu
