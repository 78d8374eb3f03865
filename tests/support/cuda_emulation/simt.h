#pragma once

#include "block.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define SIMT_DEVICE inline

/// The emulation of models/backend/cuda/hardware/simt.h, whose names these are: blocks run one after the other, the
/// threads of a block are fibers, and shared memory is watched.
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
inline void barrier() {
  testing::emulation::Block::current().barrier();
}

template <class T>
T shuffle(T value, int lane) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = testing::emulation::Block::current().exchange(bits, lane);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
T shuffle_xor(T value, int mask) {
  return shuffle(value, (thread_index() % kWarp) ^ mask);
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
  SharedElement<T> operator[](int i) const {
    return SharedElement<T>(offset_ + static_cast<std::size_t>(i) * sizeof(T));
  }

 private:
  std::size_t offset_;
};

class SharedMemory {
 public:
  template <class T>
  Shared<T> take(int count) {
    const std::size_t offset = next_;
    next_ += (static_cast<std::size_t>(count) * sizeof(T) + 7) / 8 * 8;
    return Shared<T>(offset);
  }

 private:
  std::size_t next_ = 0;
};

template <class Kernel>
void launch(Grid grid, int threads, std::size_t shared, const Kernel& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a launch copies the kernel to the device");
  testing::emulation::run_blocks(
      {grid.x, grid.y}, threads, shared, [](const void* copy) { (*static_cast<const Kernel*>(copy))(); }, &kernel);
}

}  // namespace dragoman::backend::cuda::simt
