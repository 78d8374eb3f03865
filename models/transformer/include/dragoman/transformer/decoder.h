#pragma once

#include <deque>
#include <optional>

#include <dragoman/transformer/attention_layers.h>
#include <dragoman/transformer/residual_stream.h>

namespace dragoman::transformer {

/// Causal self-attention, attention to the source, feed-forward (Vaswani et al. 2017, fig. 1 right).
class DecoderLayer {
 public:
  DecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout);
  void operator()(Context& context, ResidualStream& stream, nn::DecoderState& state) const;
  const CrossAttention& cross_attention() const noexcept { return cross_attention_; }

 private:
  nn::LayerNorm self_attention_norm_;
  CausalSelfAttention self_attention_;
  nn::LayerNorm cross_attention_norm_;
  CrossAttention cross_attention_;
  nn::LayerNorm feed_forward_norm_;
  nn::FeedForward feed_forward_;
};

/// A stack of layers and, if configured, a final norm.
class Decoder {
 public:
  Decoder(const Scope& scope, const Config& config, nn::StateLayout& layout);
  /// Returns keys and values of every layer's cross-attention.
  std::vector<nn::KeyValue> memories(Context& context, const Variable& encoder_states) const;
  /// Maps x [T, d], the embedded next tokens of the state's rows, to [T, d]. If `layers` is not null, it receives x and
  /// then every layer's output.
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state,
                      std::vector<Variable>* layers) const;
  /// The memory of layer i; negative i counts from the last.
  nn::MemoryId memory_of(int layer) const;

 private:
  Config config_;
  std::deque<DecoderLayer> layers_;
  std::optional<nn::LayerNorm> final_norm_;
};

}  // namespace dragoman::transformer
