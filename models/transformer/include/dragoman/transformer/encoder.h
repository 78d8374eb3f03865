#pragma once

#include <deque>
#include <optional>

#include <dragoman/transformer/attention_layers.h>
#include <dragoman/transformer/residual_stream.h>

namespace dragoman::transformer {

/// Self-attention, then feed-forward (Vaswani et al. 2017, fig. 1 left).
class EncoderLayer {
 public:
  EncoderLayer(const Scope& scope, const Config& config);
  void operator()(Context& context, ResidualStream& stream, const ops::Offsets& offsets) const;

 private:
  nn::LayerNorm attention_norm_;
  SelfAttention attention_;
  nn::LayerNorm feed_forward_norm_;
  nn::FeedForward feed_forward_;
};

/// A stack of layers and, if configured, a final norm.
class Encoder {
 public:
  Encoder(const Scope& scope, const Config& config);
  /// Maps x [T, d] to [T, d]. If `layers` is not null, it receives x and then every layer's output.
  Variable operator()(Context& context, const Variable& x, const ops::Offsets& offsets,
                      std::vector<Variable>* layers) const;

 private:
  Config config_;
  std::deque<EncoderLayer> layers_;
  std::optional<nn::LayerNorm> final_norm_;
};

}  // namespace dragoman::transformer
