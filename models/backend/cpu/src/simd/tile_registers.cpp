#include "tile_registers.h"

#include <array>
#include <utility>

#ifdef __x86_64__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace dragoman::backend::cpu {

#ifdef __x86_64__

namespace {

/// The operand of ldtilecfg.
struct alignas(64) Configuration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{};
  std::array<std::uint8_t, 16> rows{};

  constexpr explicit Configuration(std::size_t most_rows) {
    for (std::size_t i = 0; i < 8; ++i) {
      row_bytes[i] = 64;
      rows[i] = static_cast<std::uint8_t>(i < 6 ? most_rows : TileRegisters::kRows);
    }
  }
};

template <std::size_t... kLess>
constexpr std::array<Configuration, sizeof...(kLess)> configurations(std::index_sequence<kLess...>) {
  return {Configuration(kLess + 1)...};
}
/// By the number of rows, from 1. In static memory, because GCC 12 does not know that its intrinsic reads all of it.
constexpr auto kConfigurations = configurations(std::make_index_sequence<TileRegisters::kRows>());

}  // namespace

bool may_use_tiles() {
  // Linux: Documentation/arch/x86/xstate.rst
  static const bool may = [] {
    constexpr long kRequestFeature = 0x1023;
    constexpr long kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestFeature, kTileData) == 0;
  }();
  return may;
}

DRAGOMAN_TILES TileRegisters::TileRegisters(std::int64_t rows) {
  asm volatile("" ::: "memory");
  _tile_loadconfig(&kConfigurations[static_cast<std::size_t>(rows - 1)]);
}

DRAGOMAN_TILES TileRegisters::~TileRegisters() {
  _tile_release();
}

#else

bool may_use_tiles() {
  return false;
}

#endif

}  // namespace dragoman::backend::cpu
