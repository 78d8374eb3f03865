#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#define SSRU_DEVICE __device__ __forceinline__

/// The subset of CUDA that the kernels use. Tests compile the kernels as ordinary C++ with emulated versions of these
/// declarations (tests/plugins/ssru_emulated/launch.h).
namespace dragoman::ssru::device {

SSRU_DEVICE std::int64_t block_index() {
  return blockIdx.x;
}
SSRU_DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}

template <class Kernel>
__global__ void run(const Kernel kernel) {
  kernel();
}

/// Runs kernel() in all threads of all blocks, in the order of the stream (a cudaStream_t). Returns the error text, or
/// nullptr after success.
template <class Kernel>
const char* launch(std::int64_t blocks, int threads, void* stream, const Kernel& kernel) {
  if (blocks == 0) return nullptr;
  run<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, static_cast<cudaStream_t>(stream)>>>(kernel);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace dragoman::ssru::device
