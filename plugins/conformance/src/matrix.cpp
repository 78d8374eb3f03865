#include "matrix.h"

#include <cmath>
#include <limits>

#include <dragoman/tensor/host_view.h>

namespace dragoman::plugins {

void Matrix::append_row(const Matrix& from, std::int64_t row) {
  cols = from.cols;
  ++rows;
  const auto begin = from.values.begin() + row * from.cols;
  values.insert(values.end(), begin, begin + from.cols);
}

Matrix Matrix::row_range(std::int64_t begin, std::int64_t end) const {
  Matrix part;
  part.cols = cols;
  for (std::int64_t row = begin; row < end; ++row) part.append_row(*this, row);
  return part;
}

Matrix read(const tensor::Context& context, const tensor::Tensor& tensor) {
  const auto view = tensor::HostView::of(context.memory(), tensor);
  Matrix result{tensor.rows, tensor.cols, {}};
  result.values.reserve(static_cast<std::size_t>(tensor.size()));
  for (std::int64_t i = 0; i < tensor.rows; ++i)
    for (std::int64_t j = 0; j < tensor.cols; ++j) result.values.push_back(tensor::element(view.tensor(), i, j));
  return result;
}

Distance distance(const Matrix& a, const Matrix& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.rows != b.rows || a.cols != b.cols) return {kInfinity, 0};
  Distance largest;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.cols; ++j) {
      const double difference = std::abs(a.at(i, j) - b.at(i, j)) / (1 + std::abs(b.at(i, j)));
      if (std::isnan(difference)) return {kInfinity, i};
      if (difference > largest.value) largest = {difference, i};
    }
  }
  return largest;
}

double tolerance_of(tensor::DType dtype) {
  return dtype == tensor::DType::kF64 ? 1e-10 : 1e-4;
}

}  // namespace dragoman::plugins
