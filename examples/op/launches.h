#pragma once

#include <cstdint>

/// The functions of leaky_relu.cu, which take plain values and addresses of the device's memory. `stream` is a
/// cudaStream_t. Each function returns the error text of the launch, or nullptr after a success.
namespace example::device {

struct Matrix {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;  ///< elements from row to row
};

const char* forward(const Matrix& x, const Matrix& y, float slope, void* stream);
const char* backward(const Matrix& x, const Matrix& dy, const Matrix& dx, bool accumulate, float slope, void* stream);

}  // namespace example::device
