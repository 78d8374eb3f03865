#include "launches.h"

namespace example::device {
namespace {

constexpr int kThreads = 256;

__device__ float& at(const Matrix& matrix, std::int64_t element) {
  return matrix.data[element / matrix.cols * matrix.stride + element % matrix.cols];
}

__global__ void run_forward(Matrix x, Matrix y, float slope) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= x.rows * x.cols) return;
  const float value = at(x, i);
  at(y, i) = value > 0 ? value : slope * value;
}

__global__ void run_backward(Matrix x, Matrix dy, Matrix dx, bool accumulate, float slope) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= x.rows * x.cols) return;
  const float gradient = at(x, i) > 0 ? at(dy, i) : slope * at(dy, i);
  at(dx, i) = accumulate ? at(dx, i) + gradient : gradient;
}

/// A grid must not be empty.
unsigned blocks_of(const Matrix& x) {
  return static_cast<unsigned>((x.rows * x.cols + kThreads - 1) / kThreads);
}
const char* trouble() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace

const char* forward(const Matrix& x, const Matrix& y, float slope, void* stream) {
  if (blocks_of(x) == 0) return nullptr;
  run_forward<<<blocks_of(x), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(x, y, slope);
  return trouble();
}

const char* backward(const Matrix& x, const Matrix& dy, const Matrix& dx, bool accumulate, float slope, void* stream) {
  if (blocks_of(x) == 0) return nullptr;
  run_backward<<<blocks_of(x), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(x, dy, dx, accumulate, slope);
  return trouble();
}

}  // namespace example::device
