#include "layers.h"

#include <array>
#include <cmath>

#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/slice.h>

namespace dragoman::t5 {
namespace {

nn::Initialiser normal(std::int64_t inputs) {
  return nn::Initialiser::normal(1 / std::sqrt(static_cast<double>(inputs)));
}

std::int64_t inner_width(const Config& config) {
  return config.heads * config.head_width;
}

nn::Initialiser of_queries(const Config& config) {
  return normal(config.d_model * config.head_width);
}

nn::Linear::Options unbiased(std::vector<nn::Initialiser> initialisers) {
  const int projections = static_cast<int>(initialisers.size());
  return {.bias = false, .projections = projections, .initialisers = std::move(initialisers)};
}

nn::FeedForward make_feed_forward(const Scope& scope, const Config& config) {
  return {scope,
          config.d_model,
          config.feed_forward,
          config.activation,
          config.dropout,
          unbiased({normal(config.d_model)}),
          unbiased({normal(config.feed_forward)})};
}

std::optional<RelativeBias> bias_of_layer(const Scope& scope, const Config& config, bool bidirectional) {
  if (!config.relative_bias_of_each_layer) return std::nullopt;
  return std::optional<RelativeBias>(std::in_place, scope / "relative_bias", config, bidirectional);
}

}  // namespace

Variable Residual::input(Context& context, const nn::RmsNorm& norm) {
  if (pending_.empty()) return norm(context, x_);
  const auto [sum, normalised] = norm.after_residual(context, x_, pending_, dropout_);
  x_ = sum;
  pending_ = {};
  return normalised;
}

Variable Residual::value(Context& context) {
  if (!pending_.empty()) x_ = ops::add(context, x_, ops::dropout(context, pending_, dropout_));
  pending_ = {};
  return x_;
}

SelfProjections::SelfProjections(const Scope& scope, const Config& config)
    : qkv_(scope / "qkv", config.d_model, 3 * inner_width(config),
           unbiased({of_queries(config), normal(config.d_model), normal(config.d_model)})),
      out_(scope / "out", inner_width(config), config.d_model, unbiased({normal(inner_width(config))})) {}

std::array<Variable, 3> SelfProjections::queries_keys_values(Context& context, const Variable& x) const {
  return ops::split_columns<3>(context, qkv_(context, x));
}

EncoderLayer::EncoderLayer(const Scope& scope, const Config& config)
    : attention_norm_(scope / "self_attention_norm", config.d_model, config.layer_norm_epsilon),
      attention_(scope / "self_attention", config),
      bias_(bias_of_layer(scope / "self_attention", config, true)),
      feed_forward_norm_(scope / "feed_forward_norm", config.d_model, config.layer_norm_epsilon),
      feed_forward_(make_feed_forward(scope / "feed_forward", config)),
      heads_(config.heads),
      dropout_(config.dropout) {}

void EncoderLayer::operator()(Context& context, Residual& residual, const ops::Offsets& offsets,
                              const Variable& shared) const {
  const auto [q, k, v] = attention_.queries_keys_values(context, residual.input(context, attention_norm_));
  const Variable attended =
      ops::attention(context, q, k, v, offsets, offsets, {.heads = heads_, .dropout = dropout_, .scale = 1}, false,
                     bias_ ? (*bias_)(context) : shared)
          .output;
  residual.output(attention_.out(context, attended));
  residual.output(feed_forward_(context, residual.input(context, feed_forward_norm_)));
}

DecoderLayer::DecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout)
    : attention_norm_(scope / "self_attention_norm", config.d_model, config.layer_norm_epsilon),
      attention_(scope / "self_attention", config),
      bias_(bias_of_layer(scope / "self_attention", config, false)),
      history_(layout.add_history(inner_width(config))),
      cross_attention_norm_(scope / "cross_attention_norm", config.d_model, config.layer_norm_epsilon),
      cross_q_(scope / "cross_attention" / "q", config.d_model, inner_width(config), unbiased({of_queries(config)})),
      cross_kv_(scope / "cross_attention" / "kv", config.d_model, 2 * inner_width(config),
                unbiased({normal(config.d_model), normal(config.d_model)})),
      cross_out_(scope / "cross_attention" / "out", inner_width(config), config.d_model,
                 unbiased({normal(inner_width(config))})),
      memory_(layout.add_memory(inner_width(config))),
      feed_forward_norm_(scope / "feed_forward_norm", config.d_model, config.layer_norm_epsilon),
      feed_forward_(make_feed_forward(scope / "feed_forward", config)),
      heads_(config.heads),
      dropout_(config.dropout) {}

void DecoderLayer::operator()(Context& context, Residual& residual, nn::DecoderState& state,
                              const Variable& shared) const {
  const auto [q, k, v] = attention_.queries_keys_values(context, residual.input(context, attention_norm_));
  const Variable bias = bias_ ? (*bias_)(context) : shared;
  residual.output(attention_.out(context, state.attend_history(context, history_, q, k, v, heads_, dropout_, 1, bias)));
  const Variable query = cross_q_(context, residual.input(context, cross_attention_norm_));
  residual.output(cross_out_(context, state.attend_memory(context, memory_, query, heads_, dropout_, 1)));
  residual.output(feed_forward_(context, residual.input(context, feed_forward_norm_)));
}

nn::KeyValue DecoderLayer::memory(Context& context, const Variable& encoder_states) const {
  const auto [k, v] = ops::split_columns<2>(context, cross_kv_(context, encoder_states));
  return {k, v};
}

}  // namespace dragoman::t5
