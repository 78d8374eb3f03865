#pragma once

#include <array>
#include <cstdint>

namespace dragoman::evaluation {

/// The generator of `numpy.random.default_rng(seed)`, number for number, so that significance tests draw the same
/// samples as sacreBLEU. One thread at a time: as in numpy, the generator has state.
///
/// It is PCG64, i.e. XSL-RR 128/64 of O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
/// Algorithms for Random Number Generation" (HMC-CS-2014-0905). The seed is expanded by her seed_seq_fe ("Developing a
/// seed_seq Alternative", 2015), as in numpy.random.SeedSequence.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed);

  /// Returns the next number of `rng.integers(0, bound)` or `rng.choice(bound)`: below `bound`, which must be in 1 ..
  /// 2^32 - 1. Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019).
  std::uint32_t below(std::uint32_t bound);

  /// The numbers of one call of `rng.integers(2, size=..., dtype=bool)`, which uses each draw of 32 bits bit by bit.
  class Coins {
   public:
    explicit Coins(NumpyRandom& random) : random_(&random) {}
    bool toss();

   private:
    NumpyRandom* random_;
    std::uint32_t bits_ = 0;
    int left_ = 0;
  };

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t next64();
  /// Returns the low half of a 64-bit number, and at the next call its high half.
  std::uint32_t next32();
  void step();

  Wide state_ = 0;
  Wide increment_ = 0;
  std::uint32_t high_half_ = 0;
  bool has_high_half_ = false;
};

}  // namespace dragoman::evaluation
