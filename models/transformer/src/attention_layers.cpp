#include "dragoman/transformer/attention_layers.h"

#include <dragoman/ops/attention.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/slice.h>

namespace dragoman::transformer {

QueryScaling::QueryScaling(const Config& config)
    : early_(config.query_scaling == QueryScalingPlace::kEarly),
      factor_(ops::score_scale<double>(0, config.d_model / config.heads)) {}

Variable QueryScaling::operator()(Context& context, const Variable& q) const {
  return early_ ? ops::scale(context, q, factor_) : q;
}

SelfAttention::SelfAttention(const Scope& scope, const Config& config)
    : qkv_(scope / "qkv", config.d_model, 3 * config.d_model, {.projections = 3}),
      out_(scope / "out", config.d_model, config.d_model),
      scaling_(config),
      heads_(config.heads),
      dropout_(config.dropout.attention) {}

Variable SelfAttention::operator()(Context& context, const Variable& x, const ops::Offsets& offsets) const {
  const auto [q, k, v] = ops::split_columns<3>(context, qkv_(context, x));
  return out_(context, ops::attention(context, scaling_(context, q), k, v, offsets, offsets,
                                      {.heads = heads_, .dropout = dropout_, .scale = scaling_.scale()})
                           .output);
}

CausalSelfAttention::CausalSelfAttention(const Scope& scope, const Config& config, nn::StateLayout& layout)
    : qkv_(scope / "qkv", config.d_model, 3 * config.d_model, {.projections = 3}),
      out_(scope / "out", config.d_model, config.d_model),
      history_(layout.add_history(config.d_model)),
      scaling_(config),
      heads_(config.heads),
      dropout_(config.dropout.attention) {}

Variable CausalSelfAttention::operator()(Context& context, const Variable& x, nn::DecoderState& state) const {
  const auto [q, k, v] = ops::split_columns<3>(context, qkv_(context, x));
  return out_(context,
              state.attend_history(context, history_, scaling_(context, q), k, v, heads_, dropout_, scaling_.scale()));
}

CrossAttention::CrossAttention(const Scope& scope, const Config& config, nn::StateLayout& layout)
    : q_(scope / "q", config.d_model, config.d_model),
      kv_(scope / "kv", config.d_model, 2 * config.d_model, {.projections = 2}),
      out_(scope / "out", config.d_model, config.d_model),
      memory_(layout.add_memory(config.d_model)),
      scaling_(config),
      heads_(config.heads),
      dropout_(config.dropout.attention) {}

nn::KeyValue CrossAttention::memory(Context& context, const Variable& encoder_states) const {
  const auto [k, v] = ops::split_columns<2>(context, kv_(context, encoder_states));
  return {k, v};
}

Variable CrossAttention::operator()(Context& context, const Variable& x, nn::DecoderState& state) const {
  return out_(context, state.attend_memory(context, memory_, scaling_(context, q_(context, x)), heads_, dropout_,
                                           scaling_.scale()));
}

}  // namespace dragoman::transformer
