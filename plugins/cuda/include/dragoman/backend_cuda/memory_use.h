#pragma once

#include <atomic>
#include <cstdint>

namespace dragoman::backend::cuda {

/// How much of a device's memory this process has taken, and the most that it may. Thread-safe.
class MemoryUse {
 public:
  /// Of several bounds the least holds.
  void bound(std::uint64_t bytes) noexcept;
  /// Counts what is about to be taken. Error{kUnsupported} that says what would help, if it is more than may be: then
  /// nothing is counted.
  void take(std::uint64_t bytes, int device);
  void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> most_{UINT64_MAX};
};

/// The error for memory that the device does not have.
[[noreturn]] void fail_for_memory(std::uint64_t bytes, int device, std::uint64_t free, std::uint64_t all,
                                  std::uint64_t taken);

}  // namespace dragoman::backend::cuda
