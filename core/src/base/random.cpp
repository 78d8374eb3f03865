#include "dragoman/core/random.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace dragoman::core {

RandomBlock philox(std::array<std::uint32_t, 2> key, RandomBlock counter) noexcept {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

RandomBlock random_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept {
  return philox({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
                {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)});
}

namespace {

__extension__ using Uint128 = unsigned __int128;

std::uint64_t low_half(const RandomBlock& block) {
  return block[0] | (static_cast<std::uint64_t>(block[1]) << 32);
}
std::uint64_t high_half(const RandomBlock& block) {
  return block[2] | (static_cast<std::uint64_t>(block[3]) << 32);
}
double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept {
  return unit_interval(low_half(random_block(seed, stream, index)));
}

double random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept {
  const RandomBlock block = random_block(seed, stream, index);
  const double radius = std::sqrt(-2 * std::log1p(-unit_interval(low_half(block))));
  return radius * std::cos(2 * std::numbers::pi * unit_interval(high_half(block)));
}

std::uint64_t random_below(std::uint64_t bound, std::uint64_t seed, std::uint64_t stream,
                           std::uint64_t index) noexcept {
  const Uint128 product = static_cast<Uint128>(low_half(random_block(seed, stream, index))) * bound;
  return static_cast<std::uint64_t>(product >> 64);
}

void shuffle(std::span<std::uint32_t> items, std::uint64_t seed, std::uint64_t stream) noexcept {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_below(i, seed, stream, i)]);
}

}  // namespace dragoman::core
