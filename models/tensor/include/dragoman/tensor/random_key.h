#pragma once

#include <cstdint>

namespace dragoman::tensor {

/// The key of all random numbers of a step.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< the trainer's update number (and micro-batch)
};

/// The randomness of one op. Its random numbers are a function of (seed, step, stream, element). The key differs
/// between two equal steps. Therefore it is in device memory, at the same address in every step.
struct RandomState {
  const RandomKey* key = nullptr;
  std::uint64_t stream = 0;  ///< counts the random ops within a step
};

}  // namespace dragoman::tensor
