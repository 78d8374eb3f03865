#include "dragoman/transformer/decoder.h"

#include "dragoman/transformer/stack.h"

namespace dragoman::transformer {

DecoderLayer::DecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout)
    : self_attention_norm_(scope / "self_attention_norm", config.d_model, config.layer_norm_epsilon),
      self_attention_(scope / "self_attention", config, layout),
      cross_attention_norm_(scope / "cross_attention_norm", config.d_model, config.layer_norm_epsilon),
      cross_attention_(scope / "cross_attention", config, layout),
      feed_forward_norm_(scope / "feed_forward_norm", config.d_model, config.layer_norm_epsilon),
      feed_forward_(scope / "feed_forward", config.d_model, config.feed_forward, config.activation,
                    config.dropout.activation) {}

void DecoderLayer::operator()(Context& context, ResidualStream& stream, nn::DecoderState& state) const {
  stream.output(context, self_attention_norm_,
                self_attention_(context, stream.input(context, self_attention_norm_), state));
  stream.output(context, cross_attention_norm_,
                cross_attention_(context, stream.input(context, cross_attention_norm_), state));
  stream.output(context, feed_forward_norm_, feed_forward_(context, stream.input(context, feed_forward_norm_)));
}

Decoder::Decoder(const Scope& scope, const Config& config, nn::StateLayout& layout) : config_(config) {
  for (int i = 0; i < config.decoder_layers; ++i)
    layers_.emplace_back(layer_scope(scope, config.decoder_tied_layers, i), config, layout);
  if (config.final_norm) final_norm_.emplace(scope / "final_norm", config.d_model, config.layer_norm_epsilon);
}

std::vector<nn::KeyValue> Decoder::memories(Context& context, const Variable& encoder_states) const {
  std::vector<nn::KeyValue> result;
  result.reserve(layers_.size());
  for (const DecoderLayer& layer : layers_) result.push_back(layer.cross_attention().memory(context, encoder_states));
  return result;
}

Variable Decoder::operator()(Context& context, const Variable& x, nn::DecoderState& state,
                             std::vector<Variable>* layers) const {
  ResidualStream stream(config_, x);
  if (layers != nullptr) layers->push_back(x);
  {
    tensor::LayerMemory memory(context, layers == nullptr);
    for (const DecoderLayer& layer : layers_) {
      memory.next_layer();
      if (!leaves_layer_out(context, config_))
        stream.run(context, [&layer, &state](Context& ctx, ResidualStream& s) { layer(ctx, s, state); });
      if (layers != nullptr) layers->push_back(stream.value(context));
    }
  }
  return stream.close(context, final_norm_ ? &*final_norm_ : nullptr);
}

nn::MemoryId Decoder::memory_of(int layer) const {
  const auto index = static_cast<std::size_t>(layer < 0 ? layer + static_cast<int>(layers_.size()) : layer);
  return layers_[index].cross_attention().memory_id();
}

}  // namespace dragoman::transformer
