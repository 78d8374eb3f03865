#include "dragoman/ops/layer_norm.h"

#include "check.h"
#include "dragoman/ops/dropout.h"
#include "dragoman/ops/elementwise.h"
#include "dragoman/ops/rounded_parameters.h"

#include <utility>

namespace dragoman::ops {
namespace {

/// The parameters of a normalisation.
struct Norm {
  Variable gain;
  Variable bias;  ///< empty if it is not centred
  double epsilon;
  bool centred;
};

struct Statistics {
  Tensor mean;
  Tensor inverse_deviation;
};

Statistics allocate_statistics(Context& context, std::int64_t rows, const Norm& norm, bool wanted) {
  if (!wanted) return {};
  return {norm.centred ? context.allocate(rows, 1) : Tensor{}, context.allocate(rows, 1)};
}

void check_norm(const Tensor& x, const Norm& norm) {
  const std::string_view op = norm.centred ? "layer_norm" : "rms_norm";
  require_row(op, x, norm.gain.value, "gain");
  if (norm.centred) require_row(op, x, norm.bias.value, "bias");
}

Variable normalise(Context& context, const Variable& x, const Norm& norm) {
  check_norm(x.value, norm);
  const bool record = autograd::recording(context, x, norm.gain, norm.bias);
  Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  y.rounded = allocate_rounded_result(context, x.value.rows, x.value.cols);
  const Statistics statistics = allocate_statistics(context, x.value.rows, norm, record);
  context.kernels().get(kLayerNorm)(context, {x.value, norm.gain.value, norm.bias.value, norm.epsilon, y.value,
                                              statistics.mean, statistics.inverse_deviation, norm.centred, y.rounded});
  if (record)
    autograd::record(context, y.gradient, [x, norm, y, statistics](Context& ctx) {
      ctx.kernels().get(kLayerNormBackward)(
          ctx, {x.value, norm.gain.value, statistics.mean, statistics.inverse_deviation, y.gradient->value,
                optional_target(ctx, x), optional_target(ctx, norm.gain), optional_target(ctx, norm.bias)});
    });
  return y;
}

ResidualNorm normalise_sum_composite(Context& context, const Variable& residual, const Variable& x, double rate,
                                     const Norm& norm) {
  const Variable sum = add(context, residual, dropout(context, x, rate));
  return {sum, normalise(context, sum, norm)};
}

ResidualNorm normalise_sum(Context& context, const Variable& residual, const Variable& x, double rate, const Norm& norm,
                           const NormMemory& memory = {}) {
  auto* kernel = context.kernels().find(kResidualLayerNorm);
  if (kernel == nullptr) return normalise_sum_composite(context, residual, x, rate, norm);
  require_same_shape("residual_dropout_layer_norm", residual.value, x.value);
  check_norm(x.value, norm);
  const double applied = effective_rate(context, rate);
  const RandomState random = applied > 0 ? autograd::next_random(context) : RandomState{};
  const bool record = autograd::recording(context, residual, x, norm.gain, norm.bias);
  const auto [rows, cols] = std::pair(x.value.rows, x.value.cols);
  const bool overwrites_x = memory.may_overwrite_x && x.spare;
  const bool shares_y = record && !memory.normalised.empty();
  const Variable sum = autograd::make_variable(context, overwrites_x ? x.value : context.allocate(rows, cols), record);
  Variable y = autograd::make_variable(context, shares_y ? memory.normalised : context.allocate(rows, cols), record);
  y.rounded = allocate_rounded_result(context, rows, cols);
  const Statistics statistics = allocate_statistics(context, rows, norm, record);
  kernel(context, {residual.value, x.value, applied, random, norm.gain.value, norm.bias.value, norm.epsilon, sum.value,
                   y.value, statistics.mean, statistics.inverse_deviation, norm.centred, y.rounded});
  if (record)
    autograd::record(context, {sum.gradient, y.gradient}, [=](Context& ctx) {
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
          ctx, {sum.value, norm.gain.value, statistics.mean, statistics.inverse_deviation, applied, random,
                y.gradient->value, dsum, optional_target(ctx, residual), optional_target(ctx, x),
                optional_target(ctx, norm.gain), optional_target(ctx, norm.bias)});
    });
  if (shares_y)
    memory.again->arguments = {sum.value,
                               norm.gain.value,
                               norm.bias.value,
                               norm.epsilon,
                               y.value,
                               statistics.mean,
                               statistics.inverse_deviation,
                               norm.centred};
  return {sum, y};
}

}  // namespace

bool shares_norm_memory(const Context& context) {
  const auto* mode = context.extension<autograd::TrainingMode>();
  return mode != nullptr && mode->tape() != nullptr && !mode->recomputes() && !rounds_operands(context) &&
         context.kernels().find(kResidualLayerNorm) != nullptr;
}

void record_again(Context& context, const NormAgain& again) {
  autograd::record(context, nullptr, [again](Context& ctx) { ctx.kernels().get(kLayerNorm)(ctx, again.arguments); });
}

Variable layer_norm(Context& context, const Variable& x, const Variable& gain, const Variable& bias, double epsilon) {
  return normalise(context, x, {gain, bias, epsilon, true});
}

Variable rms_norm(Context& context, const Variable& x, const Variable& gain, double epsilon) {
  return normalise(context, x, {gain, {}, epsilon, false});
}

ResidualNorm residual_dropout_layer_norm(Context& context, const Variable& residual, const Variable& x, double rate,
                                         const Variable& gain, const Variable& bias, double epsilon,
                                         const NormMemory& memory) {
  return normalise_sum(context, residual, x, rate, {gain, bias, epsilon, true}, memory);
}

ResidualNorm residual_dropout_layer_norm_composite(Context& context, const Variable& residual, const Variable& x,
                                                   double rate, const Variable& gain, const Variable& bias,
                                                   double epsilon) {
  return normalise_sum_composite(context, residual, x, rate, {gain, bias, epsilon, true});
}

ResidualNorm residual_dropout_rms_norm(Context& context, const Variable& residual, const Variable& x, double rate,
                                       const Variable& gain, double epsilon) {
  return normalise_sum(context, residual, x, rate, {gain, {}, epsilon, false});
}

ResidualNorm residual_dropout_rms_norm_composite(Context& context, const Variable& residual, const Variable& x,
                                                 double rate, const Variable& gain, double epsilon) {
  return normalise_sum_composite(context, residual, x, rate, {gain, {}, epsilon, false});
}

}  // namespace dragoman::ops
