#include "support.h"

#include <cmath>
#include <limits>

#include <dragoman/core/random.h>

namespace dragoman::backend::cpu {

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(core::random_normal(seed, 7, i));
  return values;
}

Matrix::Matrix(std::int64_t rows, std::int64_t cols, std::int64_t gap)
    : rows_(rows),
      cols_(cols),
      stride_(cols + gap),
      data_(static_cast<std::size_t>(rows * stride_), std::numeric_limits<float>::quiet_NaN()) {}

Matrix::Matrix(std::int64_t rows, std::int64_t cols, const std::vector<float>& values, std::int64_t gap)
    : Matrix(rows, cols, gap) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) at(r, c) = values[static_cast<std::size_t>(r * cols + c)];
}

Matrix::operator Tensor() {
  return {data_.data(), rows_, cols_, stride_, tensor::DType::kF32, tensor::Device::kCpu};
}

std::vector<float> Matrix::values() {
  std::vector<float> result;
  for (std::int64_t r = 0; r < rows_; ++r)
    for (std::int64_t c = 0; c < cols_; ++c) result.push_back(at(r, c));
  return result;
}

bool Matrix::gaps_untouched() {
  for (std::int64_t r = 0; r < rows_; ++r)
    for (std::int64_t c = cols_; c < stride_; ++c)
      if (!std::isnan(at(r, c))) return false;
  return true;
}

namespace {

tensor::KernelTable cpu_kernels() {
  tensor::KernelTable table(tensor::Device::kCpu);
  install_kernels(table);
  return table;
}

}  // namespace

Tensor doubles(std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {values.data(), 1, count, count, tensor::DType::kF64, tensor::Device::kCpu};
}

Rig::Rig(int threads)
    : table_(cpu_kernels()),
      executor_(core::make_executor(threads)),
      context_(table_, tensor::host_memory(), tensor::DType::kF32, *executor_) {}

}  // namespace dragoman::backend::cpu
