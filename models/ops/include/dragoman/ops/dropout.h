#pragma once

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y = x * mask / (1 - rate), or y += ... if `accumulate`. The gradient is the same kernel applied to dy.
///
/// The mask is a pure function of (random, element index), so all backends draw the same mask. The element index is e =
/// row * cols + col of the logical shape, independent of strides. The element is kept if the 16-bit lane e % 8 of
/// core::random_block(key->seed, random_stream(random), e / 8) is at least dropout_threshold(rate). Lane 2w is the low
/// half of 32-bit value w, lane 2w+1 the high half.
struct DropoutArguments {
  Tensor x;
  double rate = 0;
  RandomState random;
  Tensor y;
  bool accumulate = false;
};
inline constexpr KernelKey<void(Context&, const DropoutArguments&)> kDropout{"dropout"};

/// Returns the drop probability in units of 1/65536. A rate of 0.1 is applied as 6554/65536.
inline std::uint32_t dropout_threshold(double rate) {
  return static_cast<std::uint32_t>(std::lround(rate * 65536));
}
/// Returns the factor of kept elements. With it, the expectation of the output is exactly the input.
inline double dropout_scale(double rate) {
  return 65536.0 / (65536.0 - dropout_threshold(rate));
}
/// Returns the Philox stream of one random op of one step. For kernels only, because the key is in device memory.
inline std::uint64_t random_stream(const RandomState& random) {
  return (random.key->step << 16) | (random.stream & 0xFFFF);
}

/// Returns x itself unless the context is in training mode and rate > 0. Requires 0 <= rate < 1.
///
///     Variable noisy(Context& context, const Variable& x) {
///       autograd::training_mode(context).set_training(true);            // autograd/training_mode.h
///       autograd::training_mode(context).set_random(/*seed=*/1, /*step=*/1);
///       return dropout(context, x, 0.1);
///     }
Variable dropout(Context& context, const Variable& x, double rate);

/// Returns the rate that applies in this context, which is 0 outside training. Error{kInvalidArgument} unless 0 <= rate
/// < 1, and for a rate so close to 1 that no element is kept in units of 1/65536.
inline double effective_rate(const Context& context, double rate) {
  core::require(rate >= 0 && rate < 1 && dropout_threshold(rate) < 65536, core::ErrorCode::kInvalidArgument,
                "the dropout rate must lie in [0, 1 - 2^-17) but is {}", rate);
  return autograd::is_training(context) ? rate : 0;
}

}  // namespace dragoman::ops
