#include "dragoman/ops/attention.h"

#include "check.h"
#include "dragoman/ops/dropout.h"
#include "dragoman/ops/elementwise.h"
#include "dragoman/ops/rounded_parameters.h"

#include <memory>

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Offsets& q_offsets,
                    const Offsets& k_offsets, const Tensor& bias, const AttentionOptions& options) {
  using core::ErrorCode;
  core::require(options.heads > 0 && q.cols % options.heads == 0, ErrorCode::kInvalidArgument,
                "attention: a width of {} does not divide into {} heads", q.cols, options.heads);
  require_same_shape("attention", k, v);
  core::require(k.cols == q.cols, ErrorCode::kInvalidArgument, "attention: queries of width {} but keys of width {}",
                q.cols, k.cols);
  core::require(q_offsets.size() == k_offsets.size() && q_offsets.size() > 0, ErrorCode::kInvalidArgument,
                "attention: {} query sequences but {} key sequences", q_offsets.size() - 1, k_offsets.size() - 1);
  core::require(q_offsets.host.back() == q.rows && k_offsets.host.back() == k.rows, ErrorCode::kInvalidArgument,
                "attention: offsets end at {} and {} but there are {} queries and {} keys", q_offsets.host.back(),
                k_offsets.host.back(), q.rows, k.rows);
  if (!bias.empty() && (bias.cols != options.heads || bias.rows % 2 == 0))
    core::fail(ErrorCode::kInvalidArgument, "attention: a bias by distance is [2 n + 1, {}], not {}", options.heads,
               tensor::describe(bias));
}

/// Returns the gradient of y; zeros if only the weights have a gradient.
Tensor output_gradient(Context& context, const Variable& y) {
  if (y.gradient->written) return y.gradient->value;
  const Tensor zeros = context.allocate(y.value.rows, y.value.cols);
  context.kernels().get(kScale)(context, {y.value, 0, zeros, false});
  return zeros;
}

}  // namespace

std::int64_t pairs_of_rows(std::span<const std::int32_t> q_offsets, std::span<const std::int32_t> k_offsets) {
  std::int64_t count = 0;
  for (std::size_t b = 0; b + 1 < q_offsets.size(); ++b)
    count += static_cast<std::int64_t>(q_offsets[b + 1] - q_offsets[b]) * (k_offsets[b + 1] - k_offsets[b]);
  return count;
}

std::vector<std::int64_t> weight_offsets(std::span<const std::int32_t> q_offsets,
                                         std::span<const std::int32_t> k_offsets, int heads) {
  std::vector<std::int64_t> offsets{0};
  for (std::size_t b = 0; b + 1 < q_offsets.size(); ++b)
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(heads) * (q_offsets[b + 1] - q_offsets[b]) *
                                           (k_offsets[b + 1] - k_offsets[b]));
  return offsets;
}

namespace {

/// Holds the observer of a context.
class Observation final : public tensor::ContextExtension {
 public:
  static constexpr tensor::ExtensionSlot kSlot{1};

  bool keeps_results() const override { return observer != nullptr; }
  bool allows_recording() const override { return observer == nullptr; }

  AttentionObserver* observer = nullptr;
};

}  // namespace

AttentionObserver* attention_observer(const Context& context) noexcept {
  const auto* observation = context.extension<Observation>();
  return observation == nullptr ? nullptr : observation->observer;
}

void set_attention_observer(Context& context, AttentionObserver* observer) {
  auto* observation = context.extension<Observation>();
  if (observation == nullptr) observation = &context.attach(std::make_unique<Observation>());
  observation->observer = observer;
}

bool keeps_attention_weights(const Context& context) {
  return context.kernels().find(kRecomputedAttention) == nullptr;
}

namespace {

void attend_and_recompute(Context& context, const Variable& q, const Variable& k, const Variable& v,
                          const Variable& bias, const Variable& y, const AttentionArguments& forward) {
  const RecomputedAttentionArguments arguments{.forward = forward,
                                               .log_sums = context.allocate_for_step(q.value.rows, forward.heads),
                                               .type = autograd::training_compute_type(context),
                                               .rounded_y = y.rounded};
  context.kernels().get(kRecomputedAttention)(context, arguments);
  if (!autograd::recording(context, q, k, v, bias)) return;
  autograd::record(context, y.gradient, [q, k, v, bias, y, arguments](Context& ctx) {
    ctx.kernels().get(kRecomputedAttentionBackward)(
        ctx, {arguments, y.gradient->value, optional_target(ctx, q), optional_target(ctx, k), optional_target(ctx, v),
              optional_target(ctx, bias)});
  });
}

}  // namespace

AttentionResult attention(Context& context, const Variable& q, const Variable& k, const Variable& v,
                          const Offsets& q_offsets, const Offsets& k_offsets, const AttentionOptions& wanted,
                          bool keep_weights, const Variable& bias) {
  AttentionObserver* observer = attention_observer(context);
  AttentionOptions options = wanted;
  if (observer != nullptr) observer->before(options);
  check_operands(q.value, k.value, v.value, q_offsets, k_offsets, bias.value, options);
  const double rate = effective_rate(context, options.dropout);
  const RandomState random = rate > 0 ? autograd::next_random(context) : RandomState{};
  const bool record = autograd::recording(context, q, k, v, bias);
  Variable y = autograd::make_variable(context, context.allocate(q.value.rows, q.value.cols), record);
  const bool watched = keep_weights || observer != nullptr;
  // Also without a tape: a recomputed layer has a tape in its second pass only, and both passes must have the same
  // bits.
  const bool recomputes = (record || autograd::is_training(context)) && !watched && !keeps_attention_weights(context);
  const bool has_weights = watched || (record && !recomputes);
  const std::int64_t pairs = has_weights ? pairs_of_rows(q_offsets.host, k_offsets.host) : 0;
  const Tensor probabilities =
      has_weights ? context.allocate_for_step(1, options.heads * context.coarse_bucket(pairs)) : Tensor{};
  const Variable weights = keep_weights ? autograd::make_variable(context, probabilities, record) : Variable{};
  const AttentionArguments forward{.q = q.value,
                                   .k = k.value,
                                   .v = v.value,
                                   .q_offsets = q_offsets,
                                   .k_offsets = k_offsets,
                                   .heads = options.heads,
                                   .causal = options.causal,
                                   .rate = rate,
                                   .random = random,
                                   .probabilities = probabilities,
                                   .y = y.value,
                                   .scale = options.scale,
                                   .bias = bias.value};
  if (recomputes) {
    y.rounded = allocate_rounded_result(context, q.value.rows, q.value.cols);
    attend_and_recompute(context, q, k, v, bias, y, forward);
    return {y, Variable{}};
  }
  context.kernels().get(kAttention)(context, forward);
  if (observer != nullptr) observer->after(context, forward, q_offsets, k_offsets);
  if (record)
    autograd::record(context, {y.gradient, weights.gradient}, [q, k, v, bias, y, weights, forward](Context& ctx) {
      const Tensor dweights = weights.needs_gradient() ? weights.gradient->value : Tensor{};
      ctx.kernels().get(kAttentionBackward)(
          ctx, {forward, output_gradient(ctx, y), optional_target(ctx, q), optional_target(ctx, k),
                optional_target(ctx, v), optional_target(ctx, bias), dweights});
    });
  return {y, weights};
}

}  // namespace dragoman::ops
