#include "dragoman/ops/linear.h"

#include "check.h"
#include "dragoman/ops/dropout.h"
#include "dragoman/ops/rounded_parameters.h"

#include <tuple>

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

/// Computes each gradient by a separate kernel.
void backward_composite(Context& context, const LinearBackwardArguments& arguments) {
  Tensor dz = arguments.dy;
  if (arguments.activation != Activation::kNone) {
    dz = context.allocate(arguments.dy.rows, arguments.dy.cols);
    context.kernels().get(kActivationBackward)(
        context, {arguments.pre_activation, arguments.y, arguments.activation, arguments.dy, dz, false});
  }
  auto* matmul_kernel = context.kernels().get(kMatMul);
  const auto& [dx, dw, db] = std::tie(arguments.dx, arguments.dweight, arguments.dbias);
  if (!dx.value.empty())
    matmul_kernel(context, {dz, false, arguments.weight, false, dx.value, dx.accumulate, arguments.type});
  if (!dw.value.empty())
    matmul_kernel(context, {dz, true, arguments.x, false, dw.value, dw.accumulate, arguments.type});
  if (!db.value.empty()) context.kernels().get(kColumnSum)(context, {dz, db.value, db.accumulate});
}

/// The rounded input of a plain product, and whether an earlier op has written it.
struct RoundedInput {
  Tensor values;
  bool is_known = false;
};
/// The gradient of the weight is a product with x, too.
RoundedInput rounded_input(Context& context, const Variable& x, const Weight& weight, bool record) {
  if (weight.packed != nullptr || !rounds_operands(context)) return {};
  const bool is_f16 = autograd::training_compute_type(context) == ComputeType::kF16;
  if (!x.rounded.empty() && x.rounded.dtype == (is_f16 ? tensor::DType::kF16 : tensor::DType::kBF16))
    return {x.rounded, true};
  if (!record || !weight.value.needs_gradient()) return {};
  return {allocate_rounded(context, x.value.rows, x.value.cols)};
}

/// Returns true if the gradient of the activation can be computed from its input, or from the output of a dropout.
bool can_be_dropped(Activation activation) {
  return activation == Activation::kRelu || needs_input(activation);
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
  Variable y = autograd::make_variable(context, context.allocate(x.value.rows, shape.outputs), record);
  y.spare = activation == Activation::kNone;
  const Tensor z = record && needs_input(activation) ? context.allocate(x.value.rows, shape.outputs) : Tensor{};
  const RoundedInput rounded = rounded_input(context, x, weight, record);
  kernel(context, {x.value, weight.value.value, weight.packed, bias.value, activation, z, y.value,
                   autograd::training_compute_type(context), rounded.values, rounded.is_known});
  if (record)
    autograd::record(
        context, y.gradient, [x, w = weight.value, bias, activation, z, y, rounded_x = rounded.values](Context& ctx) {
          auto* fused = ctx.kernels().find(kLinearBackward);
          (fused != nullptr ? fused : backward_composite)(
              ctx,
              {x.value, w.value, activation, z, y.value, y.gradient->value, optional_target(ctx, x),
               optional_target(ctx, w), optional_target(ctx, bias), autograd::training_compute_type(ctx), rounded_x});
        });
  return y;
}

Variable dropped_linear(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                        Activation activation, double rate) {
  auto* kernel = context.kernels().find(kDroppedLinear);
  if (effective_rate(context, rate) == 0 || kernel == nullptr || weight.packed != nullptr ||
      !can_be_dropped(activation) || context.kernels().find(kDroppedLinearBackward) == nullptr)
    return dropout(context, linear(context, x, weight, bias, activation), rate);
  const LinearShape shape = check_operands(x, weight, bias);
  const RandomState random = autograd::next_random(context);
  const bool record = autograd::recording(context, x, weight.value, bias);
  Variable y = autograd::make_variable(context, context.allocate(x.value.rows, shape.outputs), record);
  y.rounded = allocate_rounded_result(context, x.value.rows, shape.outputs);
  const Tensor z = record && needs_input(activation) ? context.allocate(x.value.rows, shape.outputs) : Tensor{};
  const RoundedInput rounded = rounded_input(context, x, weight, record);
  const ComputeType type = autograd::training_compute_type(context);
  kernel(context, {{x.value, weight.value.value, nullptr, bias.value, activation, z, y.value, type, rounded.values,
                    rounded.is_known},
                   rate,
                   random,
                   y.rounded});
  if (record)
    autograd::record(
        context, y.gradient,
        [x, w = weight.value, bias, activation, z, y, rate, random, rounded_x = rounded.values](Context& ctx) {
          ctx.kernels().get(kDroppedLinearBackward)(
              ctx,
              {{x.value, w.value, activation, z, y.value, y.gradient->value, optional_target(ctx, x),
                optional_target(ctx, w), optional_target(ctx, bias), autograd::training_compute_type(ctx), rounded_x},
               rate,
               random});
        });
  return y;
}

Variable linear_composite(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                          Activation activation) {
  if (weight.value.empty())
    core::fail(core::ErrorCode::kUnsupported, "linear: the {} backend cannot multiply by a packed weight",
               context.device().backend());
  check_operands(x, {weight.value, nullptr}, bias);
  const Variable product = matmul(context, x, weight.value, true, autograd::training_compute_type(context));
  return activate(context, bias.empty() ? product : add_row(context, product, bias), activation);
}

}  // namespace dragoman::ops
