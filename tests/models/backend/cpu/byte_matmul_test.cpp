#include "products/byte_matmul.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

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

enum class Kernel : std::uint8_t { kPaired, kVnni };

class OwnByteMatmul : public ::testing::TestWithParam<std::tuple<ByteShape, Kernel>> {
 protected:
  void SetUp() override {
#ifdef __x86_64__
    if (kernel() == Kernel::kPaired && __builtin_cpu_supports("avx2") == 0)
      GTEST_SKIP() << "this processor has no AVX2";
    if (kernel() == Kernel::kVnni && __builtin_cpu_supports("avx512vnni") == 0)
      GTEST_SKIP() << "this processor has no AVX-512 VNNI";
#else
    GTEST_SKIP() << "for x86-64";
#endif
  }

  static ByteShape shape() {
    return std::get<0>(GetParam());
  }
  static Kernel kernel() {
    return std::get<1>(GetParam());
  }
  static const ByteMatmul& matmul() {
    return kernel() == Kernel::kPaired ? paired_matmul() : vnni_matmul();
  }
  /// What numbers of x are at most.
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
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 33}) {
      const std::vector<std::uint8_t> x = rows_of(rows * shape().inputs, largest());
      EXPECT_EQ(product(packed.data(), x, rows), expected_product(shape(), weights, stride, x, rows))
          << rows << " rows, weights of kind " << static_cast<int>(kind);
    }
  }
}

TEST_P(OwnByteMatmul, MultipliesPartsOfTheOutputsByThemselves) {
  const tensor::Buffer packed(tensor::host_memory(), matmul().bytes(shape()));
  const std::vector<std::int8_t> weights = weights_of(shape(), shape().inputs, Weights::kUniform);
  matmul().pack(shape(), weights.data(), shape().inputs, packed.data());
  for (const std::int64_t rows : {1, 4, 9, 33}) {
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

INSTANTIATE_TEST_SUITE_P(Shapes, OwnByteMatmul,
                         ::testing::Combine(::testing::Values(ByteShape{1, 4}, ByteShape{8, 8}, ByteShape{17, 12},
                                                              ByteShape{32, 128}, ByteShape{40, 516},
                                                              ByteShape{50, 260}, ByteShape{9, 2048},
                                                              ByteShape{113, 64}),
                                            ::testing::Values(Kernel::kPaired, Kernel::kVnni)),
                         [](const auto& test) {
                           const ByteShape shape = std::get<0>(test.param);
                           return (std::get<1>(test.param) == Kernel::kPaired ? "paired_" : "vnni_") +
                                  std::to_string(shape.outputs) + "x" + std::to_string(shape.inputs);
                         });

}  // namespace
}  // namespace dragoman::backend::cpu
