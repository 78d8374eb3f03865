#include "gemm/packed_matrix.h"
#include "kernels.h"
#include "views.h"

#include <dragoman/ops/attention.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::int64_t kWidestHead = 256;

float checked_scale(const Tensor& q, int heads, double scale, std::string_view op) {
  const std::int64_t width = q.cols / heads;
  core::require(width <= kWidestHead, core::ErrorCode::kUnsupported,
                "{}: heads have a width of {}; on this device they may have {}", op, width, kWidestHead);
  return ops::score_scale<float>(scale, width);
}

device::Attention forward(const ops::AttentionArguments& arguments, std::string_view op) {
  return {.q = matrix(arguments.q, op),
          .k = matrix(arguments.k, op),
          .v = matrix(arguments.v, op),
          .q_offsets = ids(arguments.q_offsets),
          .k_offsets = ids(arguments.k_offsets),
          .heads = arguments.heads,
          .causal = arguments.causal,
          .scale = checked_scale(arguments.q, arguments.heads, arguments.scale, op),
          .bias = matrix(arguments.bias, op),
          .dropout = dropout(arguments.rate, arguments.random),
          .probabilities = matrix(arguments.probabilities, op).data,
          .y = matrix(arguments.y, op)};
}

/// Only weights that are kept or dropped have places.
void take_weight_offsets(Context& context, device::Attention& attention) {
  if (attention.probabilities != nullptr || attention.dropout.threshold > 0)
    attention.weight_offsets = scratch<std::int64_t>(context, attention.q_offsets.count);
}

void attend(Context& context, device::Attention attention) {
  const tensor::ScratchScope scope(context.arena());
  take_weight_offsets(context, attention);
  device::attention(attention);
  if (!attention.tiles && attention.words.data != nullptr)
    device::narrow_words(attention.tile_type, attention.y, attention.words);
}

/// The arguments of either form of the backward pass.
template <class Arguments>
void attend_backward(Context& context, device::Attention attention, const Arguments& arguments, std::string_view op,
                     const float* dweights = nullptr) {
  const tensor::ScratchScope scope(context.arena());
  take_weight_offsets(context, attention);
  device::attention_backward({.forward = attention,
                              .dy = matrix(arguments.dy, op),
                              .weighted = scratch<float>(context, attention.q.rows * attention.heads),
                              .dq = target(arguments.dq, op),
                              .dk = target(arguments.dk, op),
                              .dv = target(arguments.dv, op),
                              .dbias = target(arguments.dbias, op),
                              .dweights = dweights});
}

device::Attention recomputed(const ops::RecomputedAttentionArguments& arguments, std::string_view op) {
  device::Attention attention = forward(arguments.forward, op);
  attention.log_sums = matrix(arguments.log_sums, op).data;
  attention.tiles =
      arguments.type != ComputeType::kF32 && attention.q.cols / attention.heads <= device::kWidestTileHead;
  attention.tile_type = half_of(arguments.type);
  if (!arguments.rounded_y.empty()) attention.words = rounded_operand(arguments.rounded_y).words;
  return attention;
}

}  // namespace

template <>
void kernel(Context& context, const ops::AttentionArguments& arguments) {
  attend(context, forward(arguments, "attention"));
}

template <>
void kernel(Context& context, const ops::AttentionBackwardArguments& arguments) {
  constexpr std::string_view kOp = "attention_backward";
  attend_backward(context, forward(arguments.forward, kOp), arguments, kOp, matrix(arguments.dweights, kOp).data);
}

template <>
void kernel(Context& context, const ops::RecomputedAttentionArguments& arguments) {
  attend(context, recomputed(arguments, "recomputed_attention"));
}

template <>
void kernel(Context& context, const ops::RecomputedAttentionBackwardArguments& arguments) {
  constexpr std::string_view kOp = "recomputed_attention_backward";
  attend_backward(context, recomputed(arguments.forward, kOp), arguments, kOp);
}

template <>
void kernel(Context&, const ops::CachedAttentionArguments& arguments) {
  constexpr std::string_view kOp = "cached_attention";
  device::CachedAttention attention{.q = matrix(arguments.q, kOp),
                                    .key_rows = arguments.key_rows.data,
                                    .ranges = arguments.ranges.data,
                                    .heads = arguments.heads,
                                    .scale = checked_scale(arguments.q, arguments.heads, arguments.scale, kOp),
                                    .bias = matrix(arguments.bias, kOp),
                                    .probabilities = matrix(arguments.probabilities, kOp),
                                    .y = matrix(arguments.y, kOp)};
  if (const tensor::DType dtype = arguments.keys.dtype; is_half(dtype)) {
    attention.narrow_keys = view_of<std::uint16_t>(arguments.keys, dtype, kOp);
    attention.narrow_values = view_of<std::uint16_t>(arguments.values, dtype, kOp);
    attention.narrow_type = half_of(dtype);
  } else {
    attention.keys = matrix(arguments.keys, kOp);
    attention.values = matrix(arguments.values, kOp);
  }
  device::cached_attention(attention);
}

}  // namespace dragoman::backend::cuda
