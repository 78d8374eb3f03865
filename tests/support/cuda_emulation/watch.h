#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

/// The state of each byte of the emulated devices' memory. The memory of a device is one range of addresses, aligned to
/// its size. The state of a byte is in a second range, the shadow, at the same offset.
///
/// The kernels are compiled with the compiler's instrumentation of every load and store (access_hooks.cpp), which calls
/// on_load() and on_store(). This detects kernels that read unwritten memory, or access freed memory or memory of the
/// host, although kernels use plain pointers.
namespace dragoman::testing::emulation {

inline constexpr int kRangeBits = 33;
inline constexpr std::size_t kRange = std::size_t{1} << kRangeBits;  ///< bytes of a device's memory

/// The state of one byte. The shadow of fresh pages is zero.
enum class ByteState : std::uint8_t {
  kFree = 0,       ///< not allocated
  kAllocated = 1,  ///< not written since it was allocated
  kWritten = 2,
};

/// Whether kernels are compiled with the instrumentation. Otherwise nothing is watched.
#if defined(DRAGOMAN_WATCHED_KERNELS)
inline constexpr bool kWatchesKernels = true;
#else
inline constexpr bool kWatchesKernels = false;
#endif

/// The shadow of each device's memory by the upper bits of its address; nullptr for other addresses.
extern std::array<std::atomic<std::uint8_t*>, std::size_t{1} << (47 - kRangeBits)> shadows;

/// Returns nullptr if the address does not belong to a device.
inline std::uint8_t* shadow_of(const void* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t slot = number >> kRangeBits;
  if (slot >= shadows.size()) return nullptr;
  std::uint8_t* const begin = shadows[slot].load(std::memory_order_relaxed);
  return begin == nullptr ? nullptr : begin + (number & (kRange - 1));
}

/// The host's memory that the calling thread's running kernel accesses most: the stack of the emulated thread, and the
/// kernel itself, which a GPU passes as its parameters. Empty if no kernel runs.
struct KernelMemory {
  std::uintptr_t stack = 0;
  std::size_t stack_bytes = 0;
  std::uintptr_t kernel = 0;
  std::size_t kernel_bytes = 0;
};
extern constinit thread_local KernelMemory kernel_memory;

/// Sets watches_each_access.
void update_watched_accesses() noexcept;

/// The slow parts: there may be an error, or bytes are written for the first time. `code` is the address of the
/// instruction after the access.
void check_load(const void* from, std::size_t bytes, const void* code);
void check_store(const void* to, std::size_t bytes, const void* code);
/// Reports a kernel's access of the host's memory, which a GPU cannot access. Allowed are KernelMemory, the emulation's
/// own objects, and constants of the program and of its libraries, which nvcc compiles into the kernel.
void check_host_load(const void* from, std::size_t bytes, const void* code);
void check_host_store(const void* to, std::size_t bytes, const void* code);
/// While such an object exists, kernels may access the host's memory: for tests whose matrices are there.
class HostMemoryAllowed {
 public:
  HostMemoryAllowed() noexcept;
  HostMemoryAllowed(const HostMemoryAllowed&) = delete;
  HostMemoryAllowed& operator=(const HostMemoryAllowed&) = delete;
  ~HostMemoryAllowed();
};

template <class Unit>
bool all_written(const std::uint8_t* shadow) noexcept {
  Unit states;
  std::memcpy(&states, shadow, sizeof states);
  return states == static_cast<Unit>(0x0202020202020202U);
}
inline bool all_written(const std::uint8_t* shadow, std::size_t bytes) noexcept {
  switch (bytes) {
    case 1:
      return all_written<std::uint8_t>(shadow);
    case 2:
      return all_written<std::uint16_t>(shadow);
    case 4:
      return all_written<std::uint32_t>(shadow);
    case 8:
      return all_written<std::uint64_t>(shadow);
    case 16:
      return all_written<std::uint64_t>(shadow) && all_written<std::uint64_t>(shadow + 8);
    default:
      return false;
  }
}

/// Whether the slow parts below are called for each access: races are watched (races.h), or bytes counted (costs.h).
extern std::atomic<bool> watches_each_access;

inline bool on_running_stack(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - kernel_memory.stack < kernel_memory.stack_bytes;
}
inline bool in_running_kernel(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - kernel_memory.kernel < kernel_memory.kernel_bytes;
}

inline void on_load(const void* from, std::size_t bytes, const void* code) {
  if (on_running_stack(from) || in_running_kernel(from)) return;
  const std::uint8_t* const shadow = shadow_of(from);
  if (shadow == nullptr)
    check_host_load(from, bytes, code);
  else if (!all_written(shadow, bytes) || watches_each_access.load(std::memory_order_relaxed))
    check_load(from, bytes, code);
}
inline void on_store(const void* to, std::size_t bytes, const void* code) {
  if (on_running_stack(to)) return;
  const std::uint8_t* const shadow = shadow_of(to);
  if (shadow == nullptr)
    check_host_store(to, bytes, code);
  else if (!all_written(shadow, bytes) || watches_each_access.load(std::memory_order_relaxed))
    check_store(to, bytes, code);
}

/// The shadow of one device's memory, which begins at a multiple of kRange.
class Watch {
 public:
  explicit Watch(void* begin);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  void allocated(const void* data, std::size_t bytes) noexcept { set(data, bytes, ByteState::kAllocated); }
  void given_back(const void* data, std::size_t bytes) noexcept;
  void written(const void* data, std::size_t bytes) noexcept { set(data, bytes, ByteState::kWritten); }
  /// Bytes of the device are copied; unwritten bytes remain unwritten.
  void copied(const void* to, const void* from, std::size_t bytes);
  /// std::runtime_error unless all bytes are in memory of a device and have been written. `what` names the reader.
  void require_written(const void* data, std::size_t bytes, const char* what) const;
  /// std::runtime_error unless all bytes are in memory of a device and allocated. `what` names the code that accesses
  /// them.
  void require_allocated(const void* data, std::size_t bytes, const char* what) const;

 private:
  void set(const void* data, std::size_t bytes, ByteState state) noexcept;

  std::size_t slot_;
  std::uint8_t* shadow_;
};

/// Returns "byte 12 of 16 at 0x…, which nothing has written since it was allocated" for the first invalid byte, or
/// "… which is not memory of a device"; empty if all are valid.
std::string unwritten_byte(const void* data, std::size_t bytes);
std::string free_byte(const void* data, std::size_t bytes);

/// Returns the place of an instruction, as the command that prints its source line.
std::string place_of_code(const void* code);

}  // namespace dragoman::testing::emulation
