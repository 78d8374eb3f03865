#pragma once

#include "cuda_backend_for_tests.h"

#include <cstddef>
#include <cstdint>

/// Races in the device's memory: within one launch two threads use the same bytes, one of them writing, and no barrier
/// of their block lies between. Blocks have no barrier, so they may not use what another one writes. Watched where a
/// test asks for it (set_watched_races()), since it takes several times as long.
namespace dragoman::testing::emulation {

/// Numbers for the blocks of a launch, which no other launch of the program has.
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

/// Of the block that runs: reports a race.
void check_races(const void* address, std::size_t bytes, bool writes, const void* code);

}  // namespace dragoman::testing::emulation
