#pragma once

#include "block.h"
#include "launch.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <dragoman/tensor/dtype.h>

#define SIMT_DEVICE inline
#define SIMT_UNROLL
#define SIMT_LOOP
/// For functions that read values which lanes exchange; these are not in device memory.
#define SIMT_NOT_WATCHED __attribute__((no_sanitize("thread")))

/// The emulation of plugins/cuda/hardware/simt.h, with the same names. The threads of a block are fibers; memory,
/// barriers and shuffles are checked (block.h).
namespace dragoman::backend::cuda::simt {

inline constexpr int kWarp = testing::emulation::kWarp;

struct Grid {
  std::int64_t x = 1;
  std::int64_t y = 1;
};

inline int thread_index() {
  return testing::emulation::Block::current().thread();
}
inline int thread_count() {
  return testing::emulation::Block::current().threads();
}
inline std::int64_t block_index() {
  return testing::emulation::Block::current().place().x;
}
inline std::int64_t block_index_y() {
  return testing::emulation::Block::current().place().y;
}
inline std::int64_t block_count() {
  return testing::emulation::Block::current().place().count;
}
using Site = testing::emulation::Site;

inline void barrier(const Site& site = Site()) {
  testing::emulation::Block::current().barrier(site);
}

template <class T>
T shuffle(T value, int lane, const Site& site = Site()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(testing::emulation::Deposit));
  testing::emulation::Block& block = testing::emulation::Block::current();
  if (lane < 0 || lane >= block.lanes()) block.fail("a shuffle from a lane that there is not");
  testing::emulation::Deposit own{};
  std::memcpy(own.data(), &value, sizeof value);
  std::memcpy(&value, block.exchange(own, site)[lane].data(), sizeof value);
  return value;
}
template <class T>
T shuffle_xor(T value, int mask, const Site& site = Site()) {
  return shuffle(value, (thread_index() % kWarp) ^ mask, site);
}

SIMT_NOT_WATCHED inline std::uint32_t ballot(bool value, const Site& site = Site()) {
  testing::emulation::Block& block = testing::emulation::Block::current();
  const testing::emulation::Deposit* lanes = block.exchange({value ? 1U : 0U}, site);
  std::uint32_t bits = 0;
  for (int lane = 0; lane < block.lanes(); ++lane) bits |= lanes[lane][0] << lane;
  return bits;
}
inline int count_bits(std::uint32_t bits) {
  return std::popcount(bits);
}

/// Adjacent elements at an address that is a multiple of their size.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T values[kCount];
};
template <class T, int kCount>
void require_aligned(const T* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % (sizeof(T) * kCount) != 0)
    testing::emulation::Block::current().fail("a vector at an address that is no multiple of its bytes");
}
template <int kCount, class T>
Vector<T, kCount> load_vector(const T* from) {
  require_aligned<T, kCount>(from);
  Vector<T, kCount> vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class T, int kCount>
void store_vector(T* to, const Vector<T, kCount>& vector) {
  require_aligned<T, kCount>(to);
  std::memcpy(to, &vector, sizeof vector);
}
SIMT_NOT_WATCHED inline std::uint32_t reduce_max(std::uint32_t value, const Site& site = Site()) {
  testing::emulation::Block& block = testing::emulation::Block::current();
  const testing::emulation::Deposit* lanes = block.exchange({value}, site);
  for (int lane = 0; lane < block.lanes(); ++lane) value = std::max(value, lanes[lane][0]);
  return value;
}

/// One element of shared memory.
template <class T>
class SharedElement {
 public:
  explicit SharedElement(std::size_t offset) : offset_(offset) {}
  operator T() const {  // NOLINT(google-explicit-constructor): stands for a T&
    T value;
    testing::emulation::Block::current().read_shared(offset_, &value, sizeof value);
    return value;
  }
  const SharedElement& operator=(T value) const {
    testing::emulation::Block::current().write_shared(offset_, &value, sizeof value);
    return *this;
  }
  const SharedElement& operator=(const SharedElement& other) const { return *this = static_cast<T>(other); }
  SharedElement(const SharedElement&) = default;
  ~SharedElement() = default;

 private:
  std::size_t offset_;
};

template <class T>
class Shared {
 public:
  explicit Shared(std::size_t offset) : offset_(offset) {}
  SharedElement<T> operator[](int i) const { return SharedElement<T>(offset(i)); }
  std::size_t offset(int i) const { return offset_ + static_cast<std::size_t>(i) * sizeof(T); }

 private:
  std::size_t offset_;
};

/// Copies 4 elements of 32 bits; both addresses are multiples of 16 bytes.
template <class T>
void copy_async(const Shared<T>& to, int i, const T* from) {
  static_assert(sizeof(T) == 4);
  testing::emulation::Block::current().copy_async(to.offset(i), from, 16);
}
inline void commit_copies() {
  testing::emulation::Block::current().commit_copies();
}
template <int kLeft>
void wait_for_copies() {
  testing::emulation::Block::current().wait_for_copies(kLeft);
}

/// The number types in the 32-bit words of a tile: number(word, i) returns element i of a word.
struct Bf16 {
  static constexpr int kNumbers = 2;
  static float number(std::uint32_t word, int i) {
    return tensor::bf16_to_f32(static_cast<std::uint16_t>(word >> (16 * i)));
  }
};
struct F16 {
  static constexpr int kNumbers = 2;
  static float number(std::uint32_t word, int i) {
    return tensor::f16_to_f32(static_cast<std::uint16_t>(word >> (16 * i)));
  }
};
struct Int8 {
  static constexpr int kNumbers = 4;
  static std::int32_t number(std::uint32_t word, int i) { return static_cast<std::int8_t>(word >> (8 * i)); }
};

inline std::uint16_t to_f16(float value) {
  return tensor::f32_to_f16(value);
}
inline float from_f16(std::uint16_t bits) {
  return tensor::f16_to_f32(bits);
}

/// Packs two values into a word, the first in the low bits.
inline std::uint32_t to_word(Bf16, float low, float high) {
  return tensor::f32_to_bf16(low) | static_cast<std::uint32_t>(tensor::f32_to_bf16(high)) << 16;
}
inline std::uint32_t to_word(F16, float low, float high) {
  return tensor::f32_to_f16(low) | static_cast<std::uint32_t>(tensor::f32_to_f16(high)) << 16;
}

/// Computes sums += a b^T for 16 rows by 8 columns, with 8 words each. The assignment to lanes is that of NVIDIA's PTX
/// documentation (mma.m16n8k16 of bf16 and f16, m16n8k32 of s8). Lane 4 g + t has the words t and t + 4 of the rows g
/// and g + 8 of a and of row g of b, and the sums of columns 2 t and 2 t + 1 in rows g and g + 8.
template <class Words, class Number>
SIMT_NOT_WATCHED void multiply_tile(Words, Number (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                                    const Site& site = Site()) {
  testing::emulation::Block& block = testing::emulation::Block::current();
  if (block.lanes() != kWarp) block.fail("a product of tiles by a part of a warp");
  const int lane = block.thread() % kWarp;
  const testing::emulation::Deposit* lanes = block.exchange({a[0], a[1], a[2], a[3], b[0], b[1]}, site);
  for (int s = 0; s < 4; ++s) {
    const int row = lane / 4;
    const int col = lane % 4 * 2 + s % 2;
    Number sum = sums[s];
    for (int word = 0; word < 8; ++word) {
      const auto high = static_cast<std::size_t>(word / 4);
      const std::uint32_t of_a = lanes[row * 4 + word % 4][static_cast<std::size_t>(s / 2) + 2 * high];
      const std::uint32_t of_b = lanes[col * 4 + word % 4][4 + high];
      for (int i = 0; i < Words::kNumbers; ++i) sum += Words::number(of_a, i) * Words::number(of_b, i);
    }
    sums[s] = sum;
  }
}

class SharedMemory {
 public:
  template <class T>
  Shared<T> take(int count) {
    const std::size_t offset = next_;
    next_ += (static_cast<std::size_t>(count) * sizeof(T) + 15) / 16 * 16;
    return Shared<T>(offset);
  }

 private:
  std::size_t next_ = 0;
};

template <class Kernel>
void launch(Grid grid, int threads, std::size_t shared, const Kernel& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a launch copies the kernel to the device");
  constexpr auto kRun = +[](const void* copy) { (*static_cast<const Kernel*>(copy))(); };
  testing::emulation::name_kernel(kRun, __PRETTY_FUNCTION__);
  testing::emulation::launch({grid.x, grid.y}, threads, shared, kRun, &kernel, sizeof kernel);
}

}  // namespace dragoman::backend::cuda::simt
