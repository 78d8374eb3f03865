#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace dragoman::core {

/// The bits of one call.
using RandomBlock = std::array<std::uint32_t, 4>;

/// Returns 128 random bits as a pure function of (key, counter): Philox4x32-10 (Salmon et al., "Parallel Random
/// Numbers: As Easy as 1, 2, 3", SC 2011). There is no generator state to save or share: the same key and counter give
/// the same bits on every thread.
RandomBlock philox(std::array<std::uint32_t, 2> key, RandomBlock counter) noexcept;

/// Returns philox() for a 64-bit seed as the key and the counter {low and high half of `index`, low and high half of
/// `stream`}.
RandomBlock random_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept;

/// Returns a double in [0, 1) with 53 random bits.
///
///     const double number = random_uniform(/*seed=*/7, /*stream=*/0, /*index=*/12);     // always the same
///
/// This and the functions below are pure functions of their arguments: the same on every thread and machine.
double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept;

/// Returns a standard normal number (Box-Muller over one block).
double random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept;

/// Returns an integer in [0, bound) with negligible modulo bias (64-bit multiply-shift). `bound` must not be 0.
std::uint64_t random_below(std::uint64_t bound, std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept;

/// Shuffles the items (Fisher-Yates). The permutation is a pure function of (seed, stream) and the number of items.
void shuffle(std::span<std::uint32_t> items, std::uint64_t seed, std::uint64_t stream) noexcept;

}  // namespace dragoman::core
