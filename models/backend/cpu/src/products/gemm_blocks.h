#pragma once

#include <algorithm>
#include <cstdint>

#include "blocks.h"

namespace dragoman::backend::cpu {

/// Returns how much of the longer side of C = [m, n] one block of a GEMM over k takes. There are at most 16 blocks, and
/// no block has less than 8 MFLOP (about 0.1 ms). Every block packs the operand of the other side again, so blocks must
/// not be too thin. Measured on a Zen 4 core with oneDNN 2.6.3: [128, 128] over 4000 runs at 113 GFLOP/s in one block,
/// 101 in blocks of 32 rows, 94 in blocks of 16; [256, 6000] over 128 at 93 in one block, 68 in blocks of 64 rows.
inline std::int64_t gemm_block_size(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kLeastProducts = 4'000'000;
  constexpr std::int64_t kMaxBlocks = 16;
  constexpr std::int64_t kThinnest = 32;
  constexpr std::int64_t kUnit = 16;
  const std::int64_t longer = std::max(m, n);
  const std::int64_t shorter = std::min(m, n);
  const std::int64_t enough_work = kLeastProducts / std::max<std::int64_t>(1, shorter * k) + 1;
  const std::int64_t size = std::max({enough_work, (longer + kMaxBlocks - 1) / kMaxBlocks, shorter / 4, kThinnest});
  return (size + kUnit - 1) / kUnit * kUnit;
}

/// Calls body(tile) for the blocks of C.
template <class Body>
void for_each_gemm_block(core::Executor& executor, std::int64_t m, std::int64_t n, std::int64_t k, const Body& body) {
  const std::int64_t size = gemm_block_size(m, n, k);
  if (m >= n)
    core::for_each_range(executor, m, size, [&](std::int64_t begin, std::int64_t end) {
      body(Tile{begin, end, 0, n});
    });
  else
    core::for_each_range(executor, n, size, [&](std::int64_t begin, std::int64_t end) {
      body(Tile{0, m, begin, end});
    });
}

}  // namespace dragoman::backend::cpu
