#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// One Adam step (Kingma & Ba 2015, algorithm 1) over flat buffers [1, n], with decoupled weight decay (Loshchilov &
/// Hutter 2019). A skipped step (UpdateStep) changes nothing.
///   g = gradient_scale * gradient;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
///   p -= learning_rate * (m / (1 - b1^step) / (sqrt(v / (1 - b2^step)) + epsilon) + weight_decay * p)
/// If `coupled`, the decay is instead the gradient of an L2 penalty: g += weight_decay * p.
struct AdamArguments {
  Tensor parameters;
  Tensor gradients;
  Tensor first_moment;
  Tensor second_moment;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0;
  DeviceArray<UpdateStep> step = {};  ///< one
  bool coupled = false;
};
inline constexpr KernelKey<void(Context&, const AdamArguments&)> kAdam{"adam"};

/// average = d * average + (1 - d) * values with d = step.average_decay, over flat buffers [1, n].
struct MovingAverageArguments {
  Tensor average;
  Tensor values;
  DeviceArray<UpdateStep> step;  ///< one
};
inline constexpr KernelKey<void(Context&, const MovingAverageArguments&)> kMovingAverage{"moving_average"};

/// `sum` [1, 1] F64 becomes the sum of squares of all elements. It is accumulated in double precision, in an order that
/// depends on the shape alone.
struct SumOfSquaresArguments {
  Tensor x;
  Tensor sum;
};
inline constexpr KernelKey<void(Context&, const SumOfSquaresArguments&)> kSumOfSquares{"sum_of_squares"};

/// Applies one Adam step; `arguments.step` must have been uploaded. Error{kInvalidArgument} unless the shapes are
/// equal.
///
///     void update(Context& context, const AdamArguments& state, std::int64_t number) {
///       UpdateStep step;                                                // values.h
///       step.step = number;
///       step.learning_rate = 3e-4;
///       adam(context, state, step);
///     }
void adam(Context& context, const AdamArguments& arguments);
/// Uploads `step`, too. For steps that are not recorded.
void adam(Context& context, AdamArguments arguments, const UpdateStep& step);
/// Updates the moving average. Error{kInvalidArgument} unless the shapes are equal.
void moving_average(Context& context, const MovingAverageArguments& arguments);
/// Computes the sum of squares on the device. Returns F64 [1, 1] in step memory.
Tensor queue_sum_of_squares(Context& context, const Tensor& x);
/// Returns the sum of squares of all elements. Waits for the device.
double sum_of_squares(Context& context, const Tensor& x);

}  // namespace dragoman::ops
