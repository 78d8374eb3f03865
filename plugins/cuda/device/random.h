#pragma once

#include "elements.h"

/// The functions of core/random.h and ops/dropout.h on the device, with the same bits.
namespace dragoman::backend::cuda::device {

struct RandomBits {
  std::uint32_t words[4];
};

/// A round of Philox4x32 (Salmon et al. 2011), and the key of the next round.
SIMT_DEVICE void mix(std::uint32_t (&counter)[4], const std::uint32_t (&key)[2]) {
  const std::uint64_t first = std::uint64_t{0xD2511F53U} * counter[0];
  const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * counter[2];
  counter[0] = static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0];
  counter[1] = static_cast<std::uint32_t>(second);
  counter[2] = static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1];
  counter[3] = static_cast<std::uint32_t>(first);
}
SIMT_DEVICE void next_key(std::uint32_t (&key)[2]) {
  key[0] += 0x9E3779B9U;
  key[1] += 0xBB67AE85U;
}
inline constexpr int kRounds = 10;

/// core::random_block.
SIMT_DEVICE RandomBits random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint32_t key[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::uint32_t counter[4] = {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                              static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  SIMT_LOOP
  for (int round = 0; round < kRounds; ++round) {
    mix(counter, key);
    next_key(key);
  }
  return {{counter[0], counter[1], counter[2], counter[3]}};
}

/// core::random_uniform.
SIMT_DEVICE double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const RandomBits bits = random_bits(seed, stream, index);
  const std::uint64_t both = (static_cast<std::uint64_t>(bits.words[1]) << 32) | bits.words[0];
  return static_cast<double>(both >> 11) * 0x1p-53;
}

/// Returns the dropout factor of the element with this index.
SIMT_DEVICE float dropout_factor(const Dropout& dropout, std::int64_t element) {
  if (dropout.threshold == 0) return 1;
  const auto index = static_cast<std::uint64_t>(element);
  const RandomBits bits =
      random_bits(dropout.key->seed, (dropout.key->step << 16) | (dropout.stream & 0xFFFFU), index / 8);
  // Avoids words[index % 8 / 2], which would put the array into memory.
  const std::uint32_t low_half = index % 4 < 2 ? bits.words[0] : bits.words[1];
  const std::uint32_t high_half = index % 4 < 2 ? bits.words[2] : bits.words[3];
  const std::uint32_t word = index % 8 < 4 ? low_half : high_half;
  const std::uint32_t lane = index % 2 == 0 ? word & 0xFFFFU : word >> 16;
  return lane >= dropout.threshold ? dropout.scale : 0;
}

/// dropout_factor() of adjacent elements, with the key in registers. A block of random bits has the factors of 8
/// elements.
class DropoutMask {
 public:
  SIMT_DEVICE explicit DropoutMask(const Dropout& dropout) : threshold_(dropout.threshold), scale_(dropout.scale) {
    if (threshold_ == 0) return;
    seed_ = dropout.key->seed;
    stream_ = (dropout.key->step << 16) | (dropout.stream & 0xFFFFU);
  }

  /// Returns the factors of 4 elements, starting at `first`, a multiple of 4.
  SIMT_DEVICE Quad factors(std::int64_t first) const {
    if (threshold_ == 0) return {{1, 1, 1, 1}};
    const RandomBits bits = block(first);
    const bool low_half = first % 8 == 0;
    return factors_of(low_half ? bits.words[0] : bits.words[2], low_half ? bits.words[1] : bits.words[3]);
  }

  struct Two {
    Quad first;
    Quad second;
  };
  /// Returns the factors of the 4 elements that start at either index. All lanes of a warp must call it. For either
  /// index, the elements of two adjacent lanes are the 8 elements of a block. So each lane computes one block for
  /// itself and its neighbour.
  SIMT_DEVICE Two factors(std::int64_t first, std::int64_t second) const {
    if (threshold_ == 0) return {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}};
    const bool odd = simt::thread_index() % 2 != 0;
    const RandomBits bits = block(odd ? second : first);
    // The even lane has the block of the first elements, the odd lane the block of the second ones.
    const std::uint32_t own[2] = {odd ? bits.words[2] : bits.words[0], odd ? bits.words[3] : bits.words[1]};
    const std::uint32_t others[2] = {simt::shuffle_xor(odd ? bits.words[0] : bits.words[2], 1),
                                     simt::shuffle_xor(odd ? bits.words[1] : bits.words[3], 1)};
    const Quad of_own = factors_of(own[0], own[1]);
    const Quad of_others = factors_of(others[0], others[1]);
    return {odd ? of_others : of_own, odd ? of_own : of_others};
  }

 private:
  /// random_bits() with unrolled rounds.
  SIMT_DEVICE RandomBits block(std::int64_t element) const {
    const std::uint64_t index = static_cast<std::uint64_t>(element) / 8;
    std::uint32_t key[2] = {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)};
    std::uint32_t counter[4] = {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)};
    SIMT_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      mix(counter, key);
      next_key(key);
    }
    return {{counter[0], counter[1], counter[2], counter[3]}};
  }
  SIMT_DEVICE Quad factors_of(std::uint32_t low, std::uint32_t high) const {
    return {{factor_of(low & 0xFFFFU), factor_of(low >> 16), factor_of(high & 0xFFFFU), factor_of(high >> 16)}};
  }
  SIMT_DEVICE float factor_of(std::uint32_t lane) const { return lane >= threshold_ ? scale_ : 0; }

  std::uint32_t threshold_;
  float scale_;
  std::uint64_t seed_ = 0;
  std::uint64_t stream_ = 0;
};

/// A dropout whose key is in registers, for kernels that need whole blocks of 8 elements.
struct BlockDropout {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t stream[2] = {0, 0};
  std::uint32_t threshold;  ///< 0: no dropout
  float scale;

  SIMT_DEVICE explicit BlockDropout(const Dropout& dropout) : threshold(dropout.threshold), scale(dropout.scale) {
    if (threshold == 0) return;
    const std::uint64_t seed = dropout.key->seed;
    const std::uint64_t number = (dropout.key->step << 16) | (dropout.stream & 0xFFFFU);
    key[0] = static_cast<std::uint32_t>(seed);
    key[1] = static_cast<std::uint32_t>(seed >> 32);
    stream[0] = static_cast<std::uint32_t>(number);
    stream[1] = static_cast<std::uint32_t>(number >> 32);
  }

  /// Computes the bits of two blocks, whose rounds are interleaved. Bit n of bits[i] is set if element 8 * indices[i] +
  /// n is kept.
  SIMT_DEVICE void kept(const std::uint64_t (&indices)[2], std::uint32_t (&bits)[2]) const {
    std::uint32_t round_key[2] = {key[0], key[1]};
    std::uint32_t counters[2][4];
    SIMT_UNROLL
    for (int i = 0; i < 2; ++i) {
      counters[i][0] = static_cast<std::uint32_t>(indices[i]);
      counters[i][1] = static_cast<std::uint32_t>(indices[i] >> 32);
      counters[i][2] = stream[0];
      counters[i][3] = stream[1];
    }
    // Remains a loop, because unrolled code would keep the keys of all rounds in registers.
    SIMT_LOOP
    for (int pair = 0; pair < kRounds / 2; ++pair) {
      SIMT_UNROLL
      for (int round = 0; round < 2; ++round) {
        SIMT_UNROLL
        for (int i = 0; i < 2; ++i) mix(counters[i], round_key);
        next_key(round_key);
      }
    }
    // The comparison uses the upper bits of either half of a word. The bits below them cannot change the result.
    const std::uint32_t least_kept = threshold << 16;
    SIMT_UNROLL
    for (int i = 0; i < 2; ++i) {
      bits[i] = 0;
      SIMT_UNROLL
      for (int word = 0; word < 4; ++word) {
        if (counters[i][word] << 16 >= least_kept) bits[i] |= 1U << (2 * word);
        if (counters[i][word] >= least_kept) bits[i] |= 2U << (2 * word);
      }
    }
  }
};

/// Returns the factors of the quad that begins with `element`, and of the quad that begins kWarp quads later. If
/// `kWide`, all lanes of the warp must call it with adjacent quads of a row, whose length is a multiple of 8.
template <bool kWide>
SIMT_DEVICE DropoutMask::Two factors_of(const DropoutMask& mask, const Dropout& dropout, std::int64_t element) {
  constexpr int kDistance = kWarp * kQuad;
  if constexpr (kWide) {
    return mask.factors(element, element + kDistance);
  } else {
    DropoutMask::Two factors;
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) {
      factors.first.values[n] = dropout_factor(dropout, element + n);
      factors.second.values[n] = dropout_factor(dropout, element + kDistance + n);
    }
    return factors;
  }
}

}  // namespace dragoman::backend::cuda::device
