#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

/// What emulated launches do, counted: for tables of what an update or a step of a search costs, which do not depend on
/// the machine.
namespace dragoman::testing::emulation {

/// Of all launches of a kernel.
struct KernelCost {
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;
  /// Bytes of the device's memory that threads load and store, each time they do; what a GPU's caches or loads of whole
  /// lines make of them is not known. 0 where kernels are not watched (kWatchesKernels).
  std::uint64_t loaded = 0;
  std::uint64_t stored = 0;
};

/// Of the calling thread, while launches are counted: bytes of the device's memory.
extern thread_local std::uint64_t bytes_loaded;
extern thread_local std::uint64_t bytes_stored;
extern std::atomic<bool> counts_costs;

/// Whether launches are counted from now on, in all threads.
void set_counted_costs(bool counted) noexcept;
/// Returns what the calling thread's launches cost since the last call, by the kernel's name.
std::map<std::string, KernelCost> take_costs();

}  // namespace dragoman::testing::emulation
