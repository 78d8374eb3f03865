#include "dragoman/core/hash.h"

#include <sys/random.h>

#include <chrono>

#include <unistd.h>

namespace dragoman::core {
namespace {

/// SplitMix64 (Steele et al. 2014): returns a pseudo-random value for any seed. It is odd, so a seed never multiplies
/// by zero.
std::uint64_t scatter(std::uint64_t seed) noexcept {
  seed += 0x9E3779B97F4A7C15u;
  seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9u;
  seed = (seed ^ (seed >> 27)) * 0x94D049BB133111EBu;
  return (seed ^ (seed >> 31)) | 1;
}

/// The fallback where a sandbox forbids getrandom(): values that an attacker cannot easily know, which is better than a
/// constant.
std::uint64_t circumstances() noexcept {
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return now ^ (static_cast<std::uint64_t>(::getpid()) << 32) ^ reinterpret_cast<std::uintptr_t>(&now);
}

}  // namespace

// Initialised before all other objects of the library, whose constructors might hash.
[[gnu::init_priority(101)]] HashSeeds hash_seeds;

HashSeeds::HashSeeds() noexcept {
  std::uint64_t drawn[2] = {};
  // GRND_NONBLOCK: on a machine that has just started, waiting for entropy could take minutes.
  if (::getrandom(drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn) {
    drawn[0] = circumstances();
    drawn[1] = scatter(drawn[0]);
  }
  first = scatter(drawn[0]);
  second = scatter(drawn[1]);
}

void reseed_hashes(std::uint64_t seed) noexcept {
  hash_seeds.first = scatter(seed);
  hash_seeds.second = scatter(~seed);
}

}  // namespace dragoman::core
