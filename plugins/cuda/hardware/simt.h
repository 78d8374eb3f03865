#pragma once

#include "device_error.h"
#include "launch_timer.h"

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#define SIMT_DEVICE __device__ __forceinline__
/// Before a loop whose variable picks registers.
#define SIMT_UNROLL _Pragma("unroll")
/// Before one that is long enough to stay a loop where it stands in others that are not.
#define SIMT_LOOP _Pragma("unroll 1")

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

/// Where a kernel calls a barrier or a shuffle, as a default argument. Threads must meet at one place of the source,
/// which the emulation verifies and a GPU does not. A function that contains one passes its caller's on:
/// shuffle(value, lane, Site().within(caller)).
class Site {
 public:
  SIMT_DEVICE Site within(const Site&) const { return {}; }
};

/// What threads of the block wrote to shared memory before it, others may read after it.
SIMT_DEVICE void barrier(const Site& = Site()) {
  __syncthreads();
}
/// The value of the lane whose number differs in the bits of `mask`, or of `lane`.
template <class T>
SIMT_DEVICE T shuffle_xor(T value, int mask, const Site& = Site()) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}
template <class T>
SIMT_DEVICE T shuffle(T value, int lane, const Site& = Site()) {
  return __shfl_sync(0xFFFFFFFFU, value, lane);
}

/// Bit i is set if lane i of the warp gave true.
SIMT_DEVICE std::uint32_t ballot(bool value) {
  return __ballot_sync(0xFFFFFFFFU, value);
}
SIMT_DEVICE int count_bits(std::uint32_t bits) {
  return __popc(bits);
}

/// Neighbours that one instruction loads or stores, at an address that is a multiple of their bytes (at most 16).
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T values[kCount];
};
template <int kCount, class T>
SIMT_DEVICE Vector<T, kCount> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, kCount>*>(from);
}
template <class T, int kCount>
SIMT_DEVICE void store_vector(T* to, const Vector<T, kCount>& vector) {
  *reinterpret_cast<Vector<T, kCount>*>(to) = vector;
}
/// The greatest value of the warp.
SIMT_DEVICE std::uint32_t reduce_max(std::uint32_t value) {
  return __reduce_max_sync(0xFFFFFFFFU, value);
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

/// 4 elements of 32 bits, from an address that is a multiple of 16 bytes to such a one. It is there for the thread when
/// it has waited, for others behind the next barrier.
template <class T>
SIMT_DEVICE void copy_async(const Shared<T>& to, int i, const T* from) {
  static_assert(sizeof(T) == 4);
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&to[i]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(from) : "memory");
}
/// All copies since the last call are a group.
SIMT_DEVICE void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
/// Waits for all groups but the last kLeft.
template <int kLeft>
SIMT_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
}

/// What the words of a tile hold: two numbers of 16 bits, or four of int8.
struct Bf16 {};
struct F16 {};
struct Int8 {};

/// Of IEEE's binary16: to nearest, ties to even, beyond the largest number infinite; NaN stays NaN.
SIMT_DEVICE std::uint16_t to_f16(float value) {
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
SIMT_DEVICE float from_f16(std::uint16_t bits) {
  float value = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

/// Two values in a word, the first in the lowest bits: to nearest, ties to even; NaN stays NaN.
SIMT_DEVICE std::uint32_t to_word(Bf16, float low, float high) {
  std::uint32_t word = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
SIMT_DEVICE std::uint32_t to_word(F16, float low, float high) {
  std::uint32_t word = 0;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

/// sums += a b^T on tensor cores, of 16 rows by 8 columns of 8 words each. All lanes of a warp take part (NVIDIA, PTX
/// ISA: mma.m16n8k16 of .bf16 and .f16, mma.m16n8k32 of .s8). Lane 4 g + t
/// gives the words t and t + 4 of the rows g and g + 8 of a, in the order (g, t), (g + 8, t), (g, t + 4), (g + 8,
/// t + 4), and those of row g of b; it gets the sums of columns 2 t and 2 t + 1 in the rows g and g + 8.
SIMT_DEVICE void multiply_tile(Bf16, float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
SIMT_DEVICE void multiply_tile(F16, float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
SIMT_DEVICE void multiply_tile(Int8, std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                               const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};\n"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Hands out the shared memory of a block, in the same order in all of its threads.
class SharedMemory {
 public:
  SIMT_DEVICE SharedMemory() {
    extern __shared__ uint4 block_memory[];
    next_ = reinterpret_cast<char*>(block_memory);
  }
  template <class T>
  SIMT_DEVICE Shared<T> take(int count) {
    T* const data = reinterpret_cast<T*>(next_);
    next_ += (count * sizeof(T) + 15) / 16 * 16;
    return Shared<T>(data);
  }

 private:
  char* next_;
};

template <class Kernel>
__global__ void run(const Kernel kernel) {
  kernel();
}
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kBlockThreads, Kernel::kResidentBlocks) run_bounded(const Kernel kernel) {
  kernel();
}
/// A kernel that names the size of its blocks, and how many of them a processor is to have room for at a time, gets as
/// many registers as that leaves.
template <class Kernel>
constexpr auto entry() {
  if constexpr (requires { Kernel::kResidentBlocks; })
    return &run_bounded<Kernel>;
  else
    return &run<Kernel>;
}

/// Runs kernel() in `threads` threads for each block of the grid, in the order of the calling thread's stream.
/// `shared`: bytes of shared memory that a block takes.
template <class Kernel>
void launch(Grid grid, int threads, std::size_t shared, const Kernel& kernel) {
  if (grid.x == 0 || grid.y == 0) return;
  constexpr std::size_t kWithoutAsking = std::size_t{48} << 10;
  if (shared > kWithoutAsking)
    require_success(
        cudaFuncSetAttribute(entry<Kernel>(), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "taking shared memory");
  const TimedLaunch timed(__PRETTY_FUNCTION__);
  constexpr auto kEntry = entry<Kernel>();
  kEntry<<<dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y)), static_cast<unsigned>(threads), shared,
           cudaStreamPerThread>>>(kernel);
  require_success(cudaGetLastError(), "launching a kernel");
}

}  // namespace dragoman::backend::cuda::simt
