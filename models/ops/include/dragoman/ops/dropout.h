#pragma once

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y = x * mask / (1 - rate), or y += ...; the mask is a pure function of (random, element index). The gradient is the
/// same kernel applied to dy. Element index e = row * cols + col (of the logical shape, whatever the strides). It is
/// kept if the 16-bit lane e % 8 of core::random_block(key->seed, random_stream(random), e / 8) is at least
/// dropout_threshold(rate); lane 2w is the low half of word w, lane 2w+1 the high half. All backends draw the same
/// mask.
struct DropoutArguments {
  Tensor x;
  double rate = 0;
  RandomState random;
  Tensor y;
  bool accumulate = false;
};
inline constexpr KernelKey<void(Context&, const DropoutArguments&)> kDropout{"dropout"};

/// Drop probability in units of 1/65536; 0.1 is applied as 6554/65536.
inline std::uint32_t dropout_threshold(double rate) {
  return static_cast<std::uint32_t>(std::lround(rate * 65536));
}
/// What kept elements are multiplied by, so that the expectation is exactly that of the input.
inline double dropout_scale(double rate) {
  return 65536.0 / (65536.0 - dropout_threshold(rate));
}
/// The Philox stream of one random op of one step; for kernels, since the key is in the device's memory.
inline std::uint64_t random_stream(const RandomState& random) {
  return (random.key->step << 16) | (random.stream & 0xFFFF);
}

/// Returns x itself unless the context is in training mode and rate > 0. 0 <= rate < 1.
Variable dropout(Context& context, const Variable& x, double rate);

/// The rate that applies in this context: 0 outside of training. Error{kInvalidArgument} unless 0 <= rate < 1, or if
/// it is so close to 1 that in units of 1/65536 nothing would be kept.
inline double effective_rate(const Context& context, double rate) {
  core::require(rate >= 0 && rate < 1 && dropout_threshold(rate) < 65536, core::ErrorCode::kInvalidArgument,
                "the dropout rate must lie in [0, 1 - 2^-17) but is {}", rate);
  return autograd::is_training(context) ? rate : 0;
}

}  // namespace dragoman::ops
