#pragma once

#include <algorithm>
#include <cstdint>

namespace dragoman::backend::cpu {

/// How many rows of C one block of a GEMM [m, k] x [k, n] takes: at most 16 blocks, none with less work than 8 MFLOP
/// (about 0.1 ms), since every block packs all of B again; in units of the 48 rows that AVX-512 kernels work on.
inline std::int64_t gemm_block_rows(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kLeastWork = 4'000'000;
  constexpr std::int64_t kMostBlocks = 16;
  constexpr std::int64_t kUnit = 48;
  const std::int64_t enough_work = kLeastWork / std::max<std::int64_t>(1, n * k) + 1;
  const std::int64_t rows = std::max(enough_work, (m + kMostBlocks - 1) / kMostBlocks);
  return (rows + kUnit - 1) / kUnit * kUnit;
}

}  // namespace dragoman::backend::cpu
