#pragma once

#include "products/blocks.h"

#include <cstdint>

#include <dragoman/ops/dropout.h>

namespace dragoman::backend::cpu {

/// A dropout rate and random state in the form that kernels use.
struct DropoutMask {
  std::uint32_t threshold = 0;  ///< 16-bit lanes below it drop their element; 0 drops nothing
  float scale = 1;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;

  DropoutMask(double rate, const tensor::RandomState& random)
      : threshold(ops::dropout_threshold(rate)),
        scale(static_cast<float>(ops::dropout_scale(rate))),
        seed(active() ? random.key->seed : 0),
        stream(active() ? ops::random_stream(random) : 0) {}

  bool active() const noexcept { return threshold != 0; }
};

/// The part of ops::kDropout that computes a tile of y, which may be x. `mask` is that of the arguments. Runs on the
/// calling thread.
void drop_tile(const ops::DropoutArguments& arguments, const DropoutMask& mask, const Tile& tile);

}  // namespace dragoman::backend::cpu
