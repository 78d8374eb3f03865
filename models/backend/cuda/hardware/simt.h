#pragma once

#include "device_error.h"

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#define SIMT_DEVICE __device__ __forceinline__

/// The few things of CUDA that kernels use, so that the same kernels also compile as ordinary C++ against an emulation
/// (tests/support/cuda_emulation/simt.h), which has this header's name and declarations. All threads of a block must
/// reach a barrier, all 32 of a warp a shuffle.
namespace dragoman::backend::cuda::simt {

inline constexpr int kWarp = 32;

struct Grid {
  std::int64_t x = 1;
  std::int64_t y = 1;
};

SIMT_DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}
SIMT_DEVICE int thread_count() {
  return static_cast<int>(blockDim.x);
}
SIMT_DEVICE std::int64_t block_index() {
  return blockIdx.x;
}
SIMT_DEVICE std::int64_t block_index_y() {
  return blockIdx.y;
}
SIMT_DEVICE std::int64_t block_count() {
  return gridDim.x;
}

/// What threads of the block wrote to shared memory before it, others may read after it.
SIMT_DEVICE void barrier() {
  __syncthreads();
}
/// The value of the lane whose number differs in the bits of `mask`, or of `lane`.
template <class T>
SIMT_DEVICE T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}
template <class T>
SIMT_DEVICE T shuffle(T value, int lane) {
  return __shfl_sync(0xFFFFFFFFU, value, lane);
}

/// Memory that the threads of a block share: elements are read and assigned, not referred to.
template <class T>
class Shared {
 public:
  SIMT_DEVICE explicit Shared(T* data) : data_(data) {}
  SIMT_DEVICE T& operator[](int i) const { return data_[i]; }

 private:
  T* data_;
};

/// Hands out the shared memory of a block, in the same order in all of its threads.
class SharedMemory {
 public:
  SIMT_DEVICE SharedMemory() {
    extern __shared__ double block_memory[];
    next_ = reinterpret_cast<char*>(block_memory);
  }
  template <class T>
  SIMT_DEVICE Shared<T> take(int count) {
    T* const data = reinterpret_cast<T*>(next_);
    next_ += (count * sizeof(T) + 7) / 8 * 8;
    return Shared<T>(data);
  }

 private:
  char* next_;
};

template <class Kernel>
__global__ void run(const Kernel kernel) {
  kernel();
}

/// Runs kernel() in `threads` threads for each block of the grid, in the order of the calling thread's stream.
/// `shared`: bytes of shared memory that a block takes.
template <class Kernel>
void launch(Grid grid, int threads, std::size_t shared, const Kernel& kernel) {
  if (grid.x == 0 || grid.y == 0) return;
  run<<<dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y)), static_cast<unsigned>(threads), shared,
        cudaStreamPerThread>>>(kernel);
  require_success(cudaGetLastError(), "launching a kernel");
}

}  // namespace dragoman::backend::cuda::simt
