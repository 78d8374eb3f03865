#include "dragoman/ops/layer_norm.h"

#include "check.h"
#include "dragoman/ops/dropout.h"
#include "dragoman/ops/elementwise.h"

namespace dragoman::ops {
namespace {

struct Statistics {
  Tensor mean;
  Tensor inverse_deviation;
};

Statistics allocate_statistics(Context& context, std::int64_t rows, bool wanted) {
  if (!wanted) return {};
  return {context.allocate(rows, 1), context.allocate(rows, 1)};
}

void check_norm(const Tensor& x, const Variable& gain, const Variable& bias) {
  require_row("layer_norm", x, gain.value, "gain");
  require_row("layer_norm", x, bias.value, "bias");
}

}  // namespace

Variable layer_norm(Context& context, const Variable& x, const Variable& gain, const Variable& bias, double epsilon) {
  check_norm(x.value, gain, bias);
  const bool record = autograd::recording(context, x, gain, bias);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  const Statistics statistics = allocate_statistics(context, x.value.rows, record);
  context.kernels().get(kLayerNorm)(
      context, {x.value, gain.value, bias.value, epsilon, y.value, statistics.mean, statistics.inverse_deviation});
  if (record)
    context.tape()->record(context, y.gradient, [x, gain, bias, y, statistics](Context& ctx) {
      ctx.kernels().get(kLayerNormBackward)(
          ctx, {x.value, gain.value, statistics.mean, statistics.inverse_deviation, y.gradient->value,
                optional_target(ctx, x), optional_target(ctx, gain), optional_target(ctx, bias)});
    });
  return y;
}

ResidualNorm residual_dropout_layer_norm(Context& context, const Variable& residual, const Variable& x, double rate,
                                         const Variable& gain, const Variable& bias, double epsilon) {
  auto* kernel = context.kernels().find(kResidualLayerNorm);
  if (kernel == nullptr) return residual_dropout_layer_norm_composite(context, residual, x, rate, gain, bias, epsilon);
  require_same_shape("residual_dropout_layer_norm", residual.value, x.value);
  check_norm(x.value, gain, bias);
  const double applied = effective_rate(context, rate);
  const RandomState random = applied > 0 ? context.next_random() : RandomState{};
  const bool record = autograd::recording(context, residual, x, gain, bias);
  const Variable sum = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  const Statistics statistics = allocate_statistics(context, x.value.rows, record);
  kernel(context, {residual.value, x.value, applied, random, gain.value, bias.value, epsilon, sum.value, y.value,
                   statistics.mean, statistics.inverse_deviation});
  if (record)
    context.tape()->record(context, nullptr, [=](Context& ctx) {
      if (!sum.gradient->written && !y.gradient->written) return;
      if (!y.gradient->written) {
        // Only the sum was used: the norm has no part in the gradient.
        accumulate_gradient(ctx, residual, sum.gradient->value);
        if (!x.needs_gradient()) return;
        const GradientTarget dx = autograd::target_of(ctx, *x.gradient);
        ctx.kernels().get(kDropout)(ctx, {sum.gradient->value, applied, random, dx.value, dx.accumulate});
        return;
      }
      const Tensor dsum = sum.gradient->written ? sum.gradient->value : Tensor{};
      ctx.kernels().get(kResidualLayerNormBackward)(
          ctx, {sum.value, gain.value, statistics.mean, statistics.inverse_deviation, applied, random,
                y.gradient->value, dsum, optional_target(ctx, residual), optional_target(ctx, x),
                optional_target(ctx, gain), optional_target(ctx, bias)});
    });
  return {sum, y};
}

ResidualNorm residual_dropout_layer_norm_composite(Context& context, const Variable& residual, const Variable& x,
                                                   double rate, const Variable& gain, const Variable& bias,
                                                   double epsilon) {
  const Variable sum = add(context, residual, dropout(context, x, rate));
  return {sum, layer_norm(context, sum, gain, bias, epsilon)};
}

}  // namespace dragoman::ops
