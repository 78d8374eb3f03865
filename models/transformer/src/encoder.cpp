#include "dragoman/transformer/encoder.h"

#include "dragoman/transformer/stack.h"

namespace dragoman::transformer {

EncoderLayer::EncoderLayer(const Scope& scope, const Config& config)
    : attention_norm_(scope / "self_attention_norm", config.d_model, config.layer_norm_epsilon),
      attention_(scope / "self_attention", config),
      feed_forward_norm_(scope / "feed_forward_norm", config.d_model, config.layer_norm_epsilon),
      feed_forward_(scope / "feed_forward", config.d_model, config.feed_forward, config.activation,
                    config.dropout.activation) {}

void EncoderLayer::operator()(Context& context, ResidualStream& stream, const ops::Offsets& offsets) const {
  stream.output(context, attention_norm_, attention_(context, stream.input(context, attention_norm_), offsets));
  stream.output(context, feed_forward_norm_, feed_forward_(context, stream.input(context, feed_forward_norm_)));
}

Encoder::Encoder(const Scope& scope, const Config& config) : config_(config) {
  for (int i = 0; i < config.encoder_layers; ++i)
    layers_.emplace_back(layer_scope(scope, config.encoder_tied_layers, i), config);
  if (config.final_norm) final_norm_.emplace(scope / "final_norm", config.d_model, config.layer_norm_epsilon);
}

Variable Encoder::operator()(Context& context, const Variable& x, const ops::Offsets& offsets,
                             std::vector<Variable>* layers) const {
  ResidualStream stream(config_, x);
  if (layers != nullptr) layers->push_back(x);
  {
    tensor::LayerMemory memory(context, layers == nullptr);
    for (const EncoderLayer& layer : layers_) {
      memory.next_layer();
      if (!leaves_layer_out(context, config_))
        stream.run(context, [&layer, offsets](Context& ctx, ResidualStream& s) { layer(ctx, s, offsets); });
      if (layers != nullptr) layers->push_back(stream.value(context));
    }
  }
  return stream.close(context, final_norm_ ? &*final_norm_ : nullptr);
}

}  // namespace dragoman::transformer
