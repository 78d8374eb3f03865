#pragma once

#include "ssru_scan.h"

#include <deque>
#include <optional>

#include <dragoman/transformer/attention_layers.h>
#include <dragoman/transformer/residual_stream.h>

namespace dragoman::ssru {

using nn::Scope;
using transformer::Config;

/// The simpler simple recurrent unit (Kim et al. 2019, sec. 3.1), x [T, d] -> [T, d]:
///
///     f_t = sigmoid(W_f x_t + b_f)
///     c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
///     o_t = ReLU(c_t)
///
/// What a hypothesis has behind it is one row of d numbers, however long it is; causal self-attention keeps 2 d per
/// token.
class RecurrentUnit {
 public:
  RecurrentUnit(const Scope& scope, const Config& config, nn::StateLayout& layout);
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state) const;

 private:
  nn::Linear candidate_;
  nn::Linear forget_;
  nn::RowStateId cell_;
};

/// Recurrent unit, attention to the source, feed-forward: a Transformer decoder layer without its self-attention.
class DecoderLayer {
 public:
  DecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout);
  void operator()(Context& context, transformer::ResidualStream& stream, nn::DecoderState& state) const;
  const transformer::CrossAttention& cross_attention() const noexcept { return cross_attention_; }

 private:
  nn::LayerNorm unit_norm_;
  RecurrentUnit unit_;
  nn::LayerNorm cross_attention_norm_;
  transformer::CrossAttention cross_attention_;
  nn::LayerNorm feed_forward_norm_;
  nn::FeedForward feed_forward_;
};

/// A stack of layers and, if configured, a final norm.
class Decoder {
 public:
  Decoder(const Scope& scope, const Config& config, nn::StateLayout& layout);
  std::vector<nn::KeyValue> memories(Context& context, const Variable& encoder_states) const;
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state,
                      std::vector<Variable>* layers) const;
  /// The memory of layer i; negative i counts from the last.
  nn::MemoryId memory_of(int layer) const;

 private:
  Config config_;
  std::deque<DecoderLayer> layers_;
  std::optional<nn::LayerNorm> final_norm_;
};

}  // namespace dragoman::ssru
