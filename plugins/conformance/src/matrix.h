#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/tensor/context.h>

namespace dragoman::plugins {

/// A result that was copied out of step memory.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  double at(std::int64_t row, std::int64_t col) const { return values[static_cast<std::size_t>(row * cols + col)]; }
  void append_row(const Matrix& from, std::int64_t row);
  Matrix row_range(std::int64_t begin, std::int64_t end) const;
};

Matrix read(const tensor::Context& context, const tensor::Tensor& tensor);

/// The largest |a - b| / (1 + |b|), and its row. The distance is infinite for matrices of different shapes and for any
/// NaN.
struct Distance {
  double value = 0;
  std::int64_t row = 0;
};
Distance distance(const Matrix& a, const Matrix& b);

/// Returns the larger distance, for loops over several comparisons.
inline Distance larger(const Distance& a, const Distance& b) {
  return b.value > a.value ? b : a;
}

/// Returns the allowed difference between results of two equivalent computations: some thousand roundings of the type.
double tolerance_of(tensor::DType dtype);

}  // namespace dragoman::plugins
