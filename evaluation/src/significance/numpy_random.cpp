#include "evaluation/numpy_random.h"

#include <bit>
#include <cstddef>

namespace dragoman::evaluation {
namespace {

/// The numpy.random.SeedSequence of an integer: a pool of four words into which the seed is hashed. The generator's
/// initial state is derived from it.
class SeedPool {
 public:
  explicit SeedPool(std::uint64_t seed) {
    const std::array<std::uint32_t, 4> entropy{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                                               0, 0};
    std::uint32_t constant = 0x43b0d7e5U;
    for (std::size_t i = 0; i < pool_.size(); ++i) pool_[i] = hashed(entropy[i], constant, 0x931e8875U);
    for (std::size_t from = 0; from < pool_.size(); ++from)
      for (std::size_t to = 0; to < pool_.size(); ++to)
        if (from != to) pool_[to] = mixed(pool_[to], hashed(pool_[from], constant, 0x931e8875U));
  }

  /// Returns four 64-bit words, each generated from its low half first.
  std::array<std::uint64_t, 4> words() const {
    std::array<std::uint64_t, 4> result{};
    std::uint32_t constant = 0x8b51f9ddU;
    for (std::size_t i = 0; i < 2 * result.size(); ++i) {
      const std::uint64_t half = hashed(pool_[i % pool_.size()], constant, 0x58f38dedU);
      result[i / 2] |= half << (i % 2 * 32);
    }
    return result;
  }

 private:
  static std::uint32_t hashed(std::uint32_t value, std::uint32_t& constant, std::uint32_t multiplier) {
    value ^= constant;
    constant *= multiplier;
    value *= constant;
    return value ^ (value >> 16);
  }
  static std::uint32_t mixed(std::uint32_t x, std::uint32_t y) {
    const std::uint32_t value = 0xca01f9ddU * x - 0x4973f715U * y;
    return value ^ (value >> 16);
  }

  std::array<std::uint32_t, 4> pool_{};
};

}  // namespace

NumpyRandom::NumpyRandom(std::uint64_t seed) {
  const std::array<std::uint64_t, 4> words = SeedPool(seed).words();
  const Wide state = (Wide{words[0]} << 64) | words[1];
  increment_ = (((Wide{words[2]} << 64) | words[3]) << 1) | 1;
  step();
  state_ += state;
  step();
}

void NumpyRandom::step() {
  constexpr Wide kMultiplier = (Wide{2549297995355413924U} << 64) | 4865540595714422341U;
  state_ = state_ * kMultiplier + increment_;
}

std::uint64_t NumpyRandom::next64() {
  step();
  const auto folded = static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
  return std::rotr(folded, static_cast<int>(state_ >> 122));
}

std::uint32_t NumpyRandom::next32() {
  if (has_high_half_) {
    has_high_half_ = false;
    return high_half_;
  }
  const std::uint64_t next = next64();
  high_half_ = static_cast<std::uint32_t>(next >> 32);
  has_high_half_ = true;
  return static_cast<std::uint32_t>(next);
}

std::uint32_t NumpyRandom::below(std::uint32_t bound) {
  if (bound <= 1) return 0;  // numpy draws nothing in this case
  std::uint64_t product = std::uint64_t{next32()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t threshold = (0U - bound) % bound;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next32()} * bound;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

bool NumpyRandom::Coins::toss() {
  if (left_ == 0) {
    bits_ = random_->next32();
    left_ = 31;
  } else {
    bits_ >>= 1;
    --left_;
  }
  return (bits_ & 1U) != 0;
}

}  // namespace dragoman::evaluation
