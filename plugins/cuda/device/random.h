#pragma once

#include "access.h"

/// core/random.h and ops/dropout.h, on the device: the same bits.
namespace dragoman::backend::cuda::device {

struct RandomBits {
  std::uint32_t words[4];
};

/// core::random_block: Philox4x32-10 (Salmon et al. 2011).
SIMT_DEVICE RandomBits random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint32_t key[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::uint32_t counter[4] = {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                              static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  SIMT_LOOP
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * counter[2];
    const std::uint32_t next[4] = {
        static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
        static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    for (int i = 0; i < 4; ++i) counter[i] = next[i];
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return {{counter[0], counter[1], counter[2], counter[3]}};
}

/// core::random_uniform.
SIMT_DEVICE double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const RandomBits bits = random_bits(seed, stream, index);
  const std::uint64_t both = (static_cast<std::uint64_t>(bits.words[1]) << 32) | bits.words[0];
  return static_cast<double>(both >> 11) * 0x1p-53;
}

/// What the element of this index is multiplied by.
SIMT_DEVICE float dropout_factor(const Dropout& dropout, std::int64_t element) {
  if (dropout.threshold == 0) return 1;
  const auto index = static_cast<std::uint64_t>(element);
  const RandomBits bits =
      random_bits(dropout.key->seed, (dropout.key->step << 16) | (dropout.stream & 0xFFFFU), index / 8);
  const std::uint32_t word = bits.words[index % 8 / 2];
  const std::uint32_t lane = index % 2 == 0 ? word & 0xFFFFU : word >> 16;
  return lane >= dropout.threshold ? dropout.scale : 0;
}

}  // namespace dragoman::backend::cuda::device
