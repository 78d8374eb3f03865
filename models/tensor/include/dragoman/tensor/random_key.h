#pragma once

#include <cstdint>

namespace dragoman::tensor {

/// What the random numbers of a step are keyed by.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< the trainer's update number (and micro-batch)
};

}  // namespace dragoman::tensor
