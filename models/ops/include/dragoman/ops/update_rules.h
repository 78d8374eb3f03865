#pragma once

#include <dragoman/ops/types.h>

// The update rules of optimisers other than Adam (adam.h). In all of them g = step.gradient_scale * gradient, and
// `step` is one UpdateStep. If it is skipped, nothing changes.
namespace dragoman::ops {

/// One step of Lion (Chen et al. 2023, algorithm 2) over flat buffers [1, n]:
///   p -= learning_rate * (sign(b1 m + (1 - b1) g) + weight_decay * p);  m = b2 m + (1 - b2) g
struct LionArguments {
  Tensor parameters;
  Tensor gradients;
  Tensor first_moment;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
  DeviceArray<UpdateStep> step = {};  ///< one
};
inline constexpr KernelKey<void(Context&, const LionArguments&)> kLion{"lion"};

/// One step of stochastic gradient descent over flat buffers [1, n], as in torch.optim.SGD without dampening:
///   g += weight_decay * p;  m = momentum * m + g;  p -= learning_rate * (nesterov ? g + momentum * m : m)
/// Without momentum `first_moment` is empty, and p -= learning_rate * g.
struct SgdArguments {
  Tensor parameters;
  Tensor gradients;
  Tensor first_moment;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  DeviceArray<UpdateStep> step = {};  ///< one
};
inline constexpr KernelKey<void(Context&, const SgdArguments&)> kSgd{"sgd"};

/// One step of Adafactor (Shazeer & Stern 2018, algorithms 4 and 5, without a first moment) for one parameter [R, C],
/// with b = 1 - step^-decay_rate. It is factored if `second_moment` is empty.
///   factored:   r_i = b r_i + (1 - b) (mean_j g_ij^2 + square_epsilon); c_j is the same over the rows;
///               v_ij = r_i c_j / mean(r)
///   otherwise:  v = b v + (1 - b) (g^2 + square_epsilon)
///   u = g / sqrt(v);  u /= max(1, rms(u) / clip_threshold)
///   a = learning_rate * (scale_parameter ? max(scale_epsilon, rms(p)) : 1)
///   p -= a * (u + weight_decay * p)
struct AdafactorArguments {
  Tensor parameters;
  Tensor gradients;
  Tensor row_moment;     ///< r [1, R], or empty
  Tensor column_moment;  ///< c [1, C], or empty
  Tensor second_moment;  ///< v [R, C], or empty
  double decay_rate = 0.8;
  double square_epsilon = 1e-30;
  double scale_epsilon = 1e-3;
  double clip_threshold = 1;
  bool scale_parameter = true;
  double weight_decay = 0;
  DeviceArray<UpdateStep> step = {};  ///< one
};
inline constexpr KernelKey<void(Context&, const AdafactorArguments&)> kAdafactor{"adafactor"};

/// x = min(max(x, -limit), limit), in place; limit > 0.
struct ClipValuesArguments {
  Tensor x;
  double limit = 0;
};
inline constexpr KernelKey<void(Context&, const ClipValuesArguments&)> kClipValues{"clip_values"};

/// Apply one update each, on the context's device. They check shapes: Error{kInvalidArgument}.
void lion(Context& context, const LionArguments& arguments);
void sgd(Context& context, const SgdArguments& arguments);
void adafactor(Context& context, const AdafactorArguments& arguments);
void clip_values(Context& context, const Tensor& x, double limit);

}  // namespace dragoman::ops
