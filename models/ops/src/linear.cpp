#include "dragoman/ops/linear.h"

#include "check.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

struct LinearShape {
  std::int64_t outputs;
  std::int64_t inputs;
};

LinearShape check_operands(const Variable& x, const Weight& weight, const Variable& bias) {
  const LinearShape shape = weight.packed != nullptr ? LinearShape{weight.packed->rows(), weight.packed->cols()}
                                                     : LinearShape{weight.value.value.rows, weight.value.value.cols};
  if (x.value.cols != shape.inputs)
    core::fail(core::ErrorCode::kInvalidArgument, "linear: the weight takes {} inputs but x is {}", shape.inputs,
               tensor::describe(x.value));
  if (!bias.empty()) tensor::require_shape(bias.value, 1, shape.outputs, "linear: the bias");
  if (weight.packed == nullptr) require_computable(weight.value.value, x.value.dtype, "linear");
  return shape;
}

/// dz = dy * activation'(z), into step memory.
Tensor activation_gradient(Context& context, const Tensor& z, const Variable& y, Activation activation) {
  if (activation == Activation::kNone) return y.gradient->value;
  const Tensor dz = context.allocate(y.value.rows, y.value.cols);
  context.kernels().get(kActivationBackward)(context, {z, y.value, activation, y.gradient->value, dz, false});
  return dz;
}

void backward(Context& context, const Variable& x, const Variable& weight, const Variable& bias, const Tensor& dz) {
  auto* matmul_kernel = context.kernels().get(kMatMul);
  const ComputeType type = context.plain_compute_type();
  if (x.needs_gradient()) {
    const GradientTarget dx = autograd::target_of(context, *x.gradient);
    matmul_kernel(context, {dz, false, weight.value, false, dx.value, dx.accumulate, type});
  }
  if (weight.needs_gradient()) {
    const GradientTarget dw = autograd::target_of(context, *weight.gradient);
    matmul_kernel(context, {dz, true, x.value, false, dw.value, dw.accumulate, type});
  }
  if (bias.needs_gradient()) {
    const GradientTarget db = autograd::target_of(context, *bias.gradient);
    context.kernels().get(kColumnSum)(context, {dz, db.value, db.accumulate});
  }
}

/// GELU and swish need their input for the gradient; the others only their output.
bool needs_input(Activation activation) {
  return activation == Activation::kGelu || activation == Activation::kGeluTanh || activation == Activation::kSwish;
}

}  // namespace

Variable linear(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                Activation activation) {
  auto* kernel = context.kernels().find(kLinear);
  if (kernel == nullptr) return linear_composite(context, x, weight, bias, activation);
  const LinearShape shape = check_operands(x, weight, bias);
  const bool record = autograd::recording(context, x, weight.value, bias);
  core::require(!record || weight.packed == nullptr, core::ErrorCode::kInvalidArgument,
                "linear: there is no gradient through a packed weight; train with plain weights");
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, shape.outputs), record);
  const Tensor z = record && needs_input(activation) ? context.allocate(x.value.rows, shape.outputs) : Tensor{};
  kernel(context, {x.value, weight.value.value, weight.packed, bias.value, activation, z, y.value,
                   context.plain_compute_type()});
  if (record)
    context.tape()->record(context, y.gradient, [x, w = weight.value, bias, activation, z, y](Context& ctx) {
      backward(ctx, x, w, bias, activation_gradient(ctx, z, y, activation));
    });
  return y;
}

Variable linear_composite(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                          Activation activation) {
  if (weight.value.empty())
    core::fail(core::ErrorCode::kUnsupported, "linear: the {} backend cannot multiply by a packed weight",
               context.device().backend());
  check_operands(x, {weight.value, nullptr}, bias);
  const Variable product = matmul(context, x, weight.value, true, context.plain_compute_type());
  return activate(context, bias.empty() ? product : add_row(context, product, bias), activation);
}

}  // namespace dragoman::ops
