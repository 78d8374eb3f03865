#pragma once

#include "x86.h"

#include <cstdint>

namespace dragoman::backend::cpu {

/// Asks the operating system for the registers of AMX. Returns false if there are none. Threads that already exist may
/// also use them.
bool may_use_tiles();

#ifdef __x86_64__

/// The registers of AMX while they are in use, each with rows of 64 bytes. Registers that are not released make every
/// switch of threads save them. Create it after writing what is multiplied: GCC 12 does not know that its intrinsics
/// read memory.
class TileRegisters {
 public:
  static constexpr std::int64_t kRows = 16;

  /// Registers 0 to 5 have `rows` rows, at most kRows. Registers 6 and 7 have kRows.
  DRAGOMAN_TILES explicit TileRegisters(std::int64_t rows);
  DRAGOMAN_TILES ~TileRegisters();
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

#endif

}  // namespace dragoman::backend::cpu
