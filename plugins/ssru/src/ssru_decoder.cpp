#include "ssru_decoder.h"

namespace dragoman::ssru {

RecurrentUnit::RecurrentUnit(const Scope& scope, const Config& config, nn::StateLayout& layout)
    : candidate_(scope / "candidate", config.d_model, config.d_model, {.bias = false}),
      forget_(scope / "forget", config.d_model, config.d_model),
      cell_(layout.add_row_state(config.d_model)) {}

Variable RecurrentUnit::operator()(Context& context, const Variable& x, nn::DecoderState& state) const {
  const Variable candidates = candidate_(context, x);
  const Variable forget = forget_(context, x, ops::Activation::kSigmoid);
  const ScanResult result = scan(context, candidates, forget, state.previous(context, cell_), state.row_offsets());
  state.store(cell_, result.latest);
  return ops::activate(context, result.cells, ops::Activation::kRelu);
}

DecoderLayer::DecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout)
    : unit_norm_(scope / "unit_norm", config.d_model, config.layer_norm_epsilon),
      unit_(scope / "unit", config, layout),
      cross_attention_norm_(scope / "cross_attention_norm", config.d_model, config.layer_norm_epsilon),
      cross_attention_(scope / "cross_attention", config, layout),
      feed_forward_norm_(scope / "feed_forward_norm", config.d_model, config.layer_norm_epsilon),
      feed_forward_(scope / "feed_forward", config.d_model, config.feed_forward, config.activation,
                    config.dropout.activation) {}

void DecoderLayer::operator()(Context& context, transformer::ResidualStream& stream, nn::DecoderState& state) const {
  stream.output(context, unit_norm_, unit_(context, stream.input(context, unit_norm_), state));
  stream.output(context, cross_attention_norm_,
                cross_attention_(context, stream.input(context, cross_attention_norm_), state));
  stream.output(context, feed_forward_norm_, feed_forward_(context, stream.input(context, feed_forward_norm_)));
}

Decoder::Decoder(const Scope& scope, const Config& config, nn::StateLayout& layout) : config_(config) {
  for (int i = 0; i < config.decoder_layers; ++i) layers_.emplace_back(scope / "layers" / i, config, layout);
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
  transformer::ResidualStream stream(config_, x);
  if (layers != nullptr) layers->push_back(x);
  for (const DecoderLayer& layer : layers_) {
    layer(context, stream, state);
    if (layers != nullptr) layers->push_back(stream.value(context));
  }
  return stream.close(context, final_norm_ ? &*final_norm_ : nullptr);
}

nn::MemoryId Decoder::memory_of(int layer) const {
  const auto index = static_cast<std::size_t>(layer < 0 ? layer + static_cast<int>(layers_.size()) : layer);
  return layers_[index].cross_attention().memory_id();
}

}  // namespace dragoman::ssru
