#include "block.h"
#include "launches.h"
#include "watch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

// Products of tiles of all sizes: the tests of ops have small matrices, which one size of tile takes.
namespace dragoman::backend::cuda {
namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t inner;
};

float rounded(device::Half type, float x) {
  // Numbers below 1 have 11 bits in fp16, until they get to 2^-14.
  if (type == device::Half::kF16) {
    const float unit = std::ldexp(1.0F, std::max(std::ilogb(x), -14) - 10);
    return x == 0 ? x : std::nearbyint(x / unit) * unit;
  }
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

class Products : public ::testing::TestWithParam<Shape> {
 protected:
  Products() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : a_) x = uniform(random);
    for (float& x : b_) x = uniform(random);
    for (float& x : bias_) x = uniform(random);
  }

  device::WordMatrix words(std::vector<std::uint32_t>& storage, std::int64_t rows, int of_word) const {
    const std::int64_t of_row = device::words_of(shape_.inner, of_word);
    storage.resize(static_cast<std::size_t>(rows * of_row) + 4);
    auto* data = storage.data();
    while (reinterpret_cast<std::uintptr_t>(data) % 16 != 0) ++data;
    return {data, rows, of_row, of_row};
  }
  /// The first and last rows and columns, and some between: all would take long in double precision.
  template <class Expected>
  void expect_elements(double tolerance, const Expected& expected) const {
    for (const std::int64_t i : {std::int64_t{0}, 9 % shape_.rows, shape_.rows / 2, shape_.rows - 1})
      for (std::int64_t j = 0; j < shape_.cols; ++j)
        ASSERT_NEAR(c_[static_cast<std::size_t>(i * shape_.cols + j)], expected(i, j), tolerance) << i << ", " << j;
  }

  testing::emulation::HostMemoryAllowed host_memory_;
  Shape shape_ = GetParam();
  std::vector<float> a_ = std::vector<float>(static_cast<std::size_t>(shape_.rows * shape_.inner));
  std::vector<float> b_ = std::vector<float>(static_cast<std::size_t>(shape_.cols * shape_.inner));
  std::vector<float> bias_ = std::vector<float>(static_cast<std::size_t>(shape_.cols));
  std::vector<float> c_ = std::vector<float>(static_cast<std::size_t>(shape_.rows * shape_.cols));
  device::Matrix a_matrix_{a_.data(), shape_.rows, shape_.inner, shape_.inner};
  device::Matrix b_matrix_{b_.data(), shape_.cols, shape_.inner, shape_.inner};
  device::Matrix c_matrix_{c_.data(), shape_.rows, shape_.cols, shape_.cols};
  device::Epilogue epilogue_{.bias = {bias_.data(), 1, shape_.cols, shape_.cols}};
  std::vector<std::uint32_t> a_words_;
  std::vector<std::uint32_t> b_words_;
};

TEST_P(Products, OfHalvesAreTheSumsOfRoundedNumbers) {
  for (const device::Half type : {device::Half::kBf16, device::Half::kF16}) {
    const device::WordMatrix a = words(a_words_, shape_.rows, 2);
    const device::WordMatrix b = words(b_words_, shape_.cols, 2);
    device::narrow_words(type, a_matrix_, a);
    device::narrow_words(type, b_matrix_, b);
    device::product_of_halves(type, a, b, c_matrix_, epilogue_);
    const auto inner = static_cast<std::size_t>(shape_.inner);
    expect_elements(2 * static_cast<double>(shape_.inner) * 0x1p-24 * 1.3 * static_cast<double>(shape_.inner),
                    [&](std::int64_t i, std::int64_t j) {
                      double sum = bias_[static_cast<std::size_t>(j)];
                      for (std::size_t k = 0; k < inner; ++k)
                        sum += static_cast<double>(rounded(type, a_[static_cast<std::size_t>(i) * inner + k])) *
                               rounded(type, b_[static_cast<std::size_t>(j) * inner + k]);
                      return sum;
                    });
  }
}

TEST_P(Products, OfInt8AreExactSumsByScales) {
  const device::WordMatrix a = words(a_words_, shape_.rows, 4);
  const device::WordMatrix b = words(b_words_, shape_.cols, 4);
  std::vector<float> a_scales(static_cast<std::size_t>(shape_.rows));
  std::vector<float> b_scales(static_cast<std::size_t>(shape_.cols));
  device::quantize_words(a_matrix_, 127, a, a_scales.data());
  device::quantize_words(b_matrix_, 127, b, b_scales.data());
  device::product_int8({.a = a,
                        .a_scales = a_scales.data(),
                        .weight = b,
                        .weight_scales = b_scales.data(),
                        .c = c_matrix_,
                        .epilogue = epilogue_});
  const auto numbers = [](const device::WordMatrix& x, std::int64_t row) {
    return reinterpret_cast<const std::int8_t*>(x.data + row * x.stride);
  };
  expect_elements(0, [&](std::int64_t i, std::int64_t j) {
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < shape_.inner; ++k) sum += numbers(a, i)[k] * numbers(b, j)[k];
    return static_cast<float>(sum) * (a_scales[static_cast<std::size_t>(i)] * b_scales[static_cast<std::size_t>(j)]) +
           bias_[static_cast<std::size_t>(j)];
  });
}

/// A row has the same bits whatever the size of the tiles that its matrix is cut into.
TEST_P(Products, OfARowDoNotDependOnOtherRows) {
  const device::WordMatrix a = words(a_words_, shape_.rows, 2);
  const device::WordMatrix b = words(b_words_, shape_.cols, 2);
  device::narrow_words(device::Half::kBf16, a_matrix_, a);
  device::narrow_words(device::Half::kBf16, b_matrix_, b);
  device::product_of_halves(device::Half::kBf16, a, b, c_matrix_, epilogue_);
  const std::int64_t last = shape_.rows - 1;
  std::vector<float> alone(static_cast<std::size_t>(shape_.cols));
  device::product_of_halves(device::Half::kBf16, {a.data + last * a.stride, 1, a.cols, a.stride}, b,
                            {alone.data(), 1, shape_.cols, shape_.cols}, epilogue_);
  EXPECT_EQ(std::memcmp(alone.data(), c_.data() + last * shape_.cols, alone.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Products,
                         ::testing::Values(Shape{1, 1, 1}, Shape{3, 70, 31}, Shape{33, 64, 65}, Shape{130, 129, 300},
                                           Shape{970, 1020, 40}, Shape{1030, 1000, 100}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.rows) + "x" + std::to_string(shape.param.cols) + "x" +
                                  std::to_string(shape.param.inner);
                         });

/// Words of a matrix, turned, are those of its transpose.
TEST(TurnWords, GivesTheWordsOfTheTranspose) {
  const testing::emulation::HostMemoryAllowed host_memory;
  for (const auto& [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 17}, {33, 130}, {75, 131}, {64, 64}}) {
    std::vector<float> x(static_cast<std::size_t>(rows * cols));
    std::vector<float> transpose(x.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        const auto value = static_cast<float>(std::sin(static_cast<double>(i * 1000 + j)));
        x[static_cast<std::size_t>(i * cols + j)] = value;
        transpose[static_cast<std::size_t>(j * rows + i)] = value;
      }
    const auto room = [](std::vector<std::uint32_t>& storage, std::int64_t lines, std::int64_t numbers) {
      const std::int64_t of_row = device::words_of(numbers, 2);
      storage.assign(static_cast<std::size_t>(lines * of_row), 1);
      return device::WordMatrix{storage.data(), lines, of_row, of_row};
    };
    std::vector<std::uint32_t> straight, turned, wanted;
    const device::WordMatrix words = room(straight, rows, cols);
    device::narrow_words(device::Half::kBf16, {x.data(), rows, cols, cols}, words);
    device::turn_words(words, room(turned, cols, rows));
    device::narrow_words(device::Half::kBf16, {transpose.data(), cols, rows, rows}, room(wanted, cols, rows));
    EXPECT_EQ(turned, wanted) << rows << " x " << cols;
  }
}

}  // namespace
}  // namespace dragoman::backend::cuda
