#pragma once

#include <atomic>
#include <cstdint>

namespace dragoman::backend::cuda {

/// Counts the device memory that this process has allocated, and enforces a limit. Thread-safe.
class MemoryUse {
 public:
  /// Sets the limit. If called more than once, the smallest limit applies.
  void bound(std::uint64_t bytes) noexcept;
  /// Counts an allocation before it is made. If it would exceed the limit, throws Error{kUnsupported} with a remedy and
  /// counts nothing.
  void take(std::uint64_t bytes, int device);
  void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> most_{UINT64_MAX};
};

/// Throws the error for an allocation that the device has no memory for.
[[noreturn]] void fail_for_memory(std::uint64_t bytes, int device, std::uint64_t free, std::uint64_t all,
                                  std::uint64_t taken);

}  // namespace dragoman::backend::cuda
