#pragma once

#include <dragoman/ops/types.h>

/// An op of a plugin's own, with a kernel for each device.
namespace example {

using dragoman::autograd::GradientTarget;
using dragoman::autograd::Variable;
using dragoman::tensor::Context;
using dragoman::tensor::KernelKey;
using dragoman::tensor::Tensor;

/// Leaky ReLU (Maas, Hannun & Ng 2013, "Rectifier Nonlinearities Improve Neural Network Acoustic Models"), element by
/// element: y = x where x > 0, else slope x. All are [T, d].
struct LeakyReluArguments {
  Tensor x;
  Tensor y;
  double slope;
};
inline constexpr KernelKey<void(Context&, const LeakyReluArguments&)> kLeakyRelu{"leaky-relu.forward"};

/// dx = dy where x > 0, else slope dy.
struct LeakyReluBackwardArguments {
  Tensor x;
  Tensor dy;
  GradientTarget dx;
  double slope;
};
inline constexpr KernelKey<void(Context&, const LeakyReluBackwardArguments&)> kLeakyReluBackward{"leaky-relu.backward"};

Variable leaky_relu(Context& context, const Variable& x, double slope);

// The kernels. They take F32 on the CPU, F64 on the reference backend.
void cpu_leaky_relu(Context& context, const LeakyReluArguments& arguments);
void cpu_leaky_relu_backward(Context& context, const LeakyReluBackwardArguments& arguments);
void reference_leaky_relu(Context& context, const LeakyReluArguments& arguments);
void reference_leaky_relu_backward(Context& context, const LeakyReluBackwardArguments& arguments);
// Where CUDA's compiler is.
void cuda_leaky_relu(Context& context, const LeakyReluArguments& arguments);
void cuda_leaky_relu_backward(Context& context, const LeakyReluBackwardArguments& arguments);

}  // namespace example
