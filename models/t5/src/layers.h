#pragma once

#include <array>
#include <optional>

#include <dragoman/nn/decoder_state.h>
#include <dragoman/nn/layers.h>
#include <dragoman/ops/recompute.h>
#include <dragoman/t5/config.h>
#include <dragoman/t5/relative_bias.h>

namespace dragoman::t5 {

using nn::Context;
using nn::Scope;
using nn::Variable;

/// The residual path of pre-norm layers. The sum of a sub-layer is delayed until the next norm needs it. Then dropout,
/// sum and norm take one pass over memory.
class Residual {
 public:
  Residual(const Variable& x, double dropout) : x_(x), dropout_(dropout) {}
  /// Returns the normalised input of the next sub-layer.
  Variable input(Context& context, const nn::RmsNorm& norm);
  /// Adds the output of a sub-layer.
  void output(const Variable& out) { pending_ = out; }
  /// Returns the value with all pending sums added.
  Variable value(Context& context);
  /// Runs `layer(context, residual)` so that the backward pass may recompute it. See ops::recompute() for what `layer`
  /// may hold.
  template <class Layer>
  void run(Context& context, const Layer& layer);

 private:
  Variable x_;
  Variable pending_;
  double dropout_;
};

template <class Layer>
void Residual::run(Context& context, const Layer& layer) {
  const auto body = [layer, dropout = dropout_](Context& ctx, const std::array<Variable, 2>& inputs) {
    Residual residual(inputs[0], dropout);
    residual.pending_ = inputs[1];
    layer(ctx, residual);
    return std::array{residual.x_, residual.pending_};
  };
  const std::array<Variable, 2> results = ops::recompute(context, std::array{x_, pending_}, body);
  x_ = results[0];
  pending_ = results[1];
}

/// The query, key, value and output projections of one attention, initialised like T5's. T5 does not scale scores, so
/// its query weights are smaller by the square root of the head width.
class SelfProjections {
 public:
  SelfProjections(const Scope& scope, const Config& config);
  std::array<Variable, 3> queries_keys_values(Context& context, const Variable& x) const;
  Variable out(Context& context, const Variable& attended) const { return out_(context, attended); }

 private:
  nn::Linear qkv_;
  nn::Linear out_;
};

/// Self-attention over whole sequences, then feed-forward.
class EncoderLayer {
 public:
  EncoderLayer(const Scope& scope, const Config& config);
  /// `shared` is the bias of the stack, if there is one.
  void operator()(Context& context, Residual& residual, const ops::Offsets& offsets, const Variable& shared) const;

 private:
  nn::RmsNorm attention_norm_;
  SelfProjections attention_;
  std::optional<RelativeBias> bias_;
  nn::RmsNorm feed_forward_norm_;
  nn::FeedForward feed_forward_;
  int heads_;
  double dropout_;
};

/// Causal self-attention, attention to the source (without a bias), then feed-forward.
class DecoderLayer {
 public:
  DecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout);
  void operator()(Context& context, Residual& residual, nn::DecoderState& state, const Variable& shared) const;
  nn::KeyValue memory(Context& context, const Variable& encoder_states) const;
  nn::MemoryId memory_id() const noexcept { return memory_; }

 private:
  nn::RmsNorm attention_norm_;
  SelfProjections attention_;
  std::optional<RelativeBias> bias_;
  nn::HistoryId history_;
  nn::RmsNorm cross_attention_norm_;
  nn::Linear cross_q_;
  nn::Linear cross_kv_;
  nn::Linear cross_out_;
  nn::MemoryId memory_;
  nn::RmsNorm feed_forward_norm_;
  nn::FeedForward feed_forward_;
  int heads_;
  double dropout_;
};

}  // namespace dragoman::t5
