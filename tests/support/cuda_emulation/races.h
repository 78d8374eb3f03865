#pragma once

#include "cuda_backend_for_tests.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Races in device memory: within one launch, two threads use the same bytes without a barrier of their block between,
/// at least one of them writing. There is no barrier between blocks, so a block must not use what another one writes.
/// Detection takes several times as long, so a test must enable it (set_watched_races()).
namespace dragoman::testing::emulation {

/// Numbers for the blocks of a launch that no other launch of the program has.
class LaunchRaces {
 public:
  explicit LaunchRaces(std::uint32_t blocks);
  LaunchRaces(const LaunchRaces&) = delete;
  LaunchRaces& operator=(const LaunchRaces&) = delete;
  ~LaunchRaces();
  std::uint32_t run_of(int block) const noexcept { return first_ + static_cast<std::uint32_t>(block); }

 private:
  std::uint32_t first_;
};

extern std::atomic<bool> watches_races;
/// Reports a race of the running block.
void check_races(const void* address, std::size_t bytes, bool writes, const void* code);

}  // namespace dragoman::testing::emulation
