#pragma once

#include <array>
#include <cstdint>

namespace dragoman::evaluation {

/// The generator that `numpy.random.default_rng(seed)` gives, number for number, so that what is drawn by chance for a
/// test of significance is what sacreBLEU draws: PCG64, which is XSL-RR 128/64 of O'Neill, "PCG: A Family of Simple
/// Fast Space-Efficient Statistically Good Algorithms for Random Number Generation" (HMC-CS-2014-0905), seeded by her
/// seed_seq_fe ("Developing a seed_seq Alternative", 2015) as numpy.random.SeedSequence has it. A generator with state,
/// since that is what it imitates: one thread at a time.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed);

  /// A number of `rng.integers(0, bound)` or `rng.choice(bound)`: below `bound`, which lies in 1 .. 2^32 - 1. Lemire,
  /// "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019).
  std::uint32_t below(std::uint32_t bound);

  /// The numbers of one call of `rng.integers(2, size=..., dtype=bool)`: one bit after the other of 32 at a time.
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
  /// The low half of a number of 64 bits, and then its high half.
  std::uint32_t next32();
  void step();

  Wide state_ = 0;
  Wide increment_ = 0;
  std::uint32_t high_half_ = 0;
  bool has_high_half_ = false;
};

}  // namespace dragoman::evaluation
