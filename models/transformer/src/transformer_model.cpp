#include "dragoman/transformer/transformer_model.h"

#include <dragoman/core/json.h>

namespace dragoman::transformer {

TransformerModel::TransformerModel(const nn::SequenceSpec& spec, const Config& config)
    : Seq2SeqModel(spec),
      config_(config),
      vocabulary_(Scope(parameters()), spec, config),
      source_embeddings_(Scope(parameters()) / "encoder", vocabulary_.source(), spec.maximum_source_length, config),
      encoder_(Scope(parameters()) / "encoder", config),
      target_embeddings_(decoder_scope(), vocabulary_.target(), spec.maximum_target_length, config) {}

core::Json TransformerModel::config() const {
  return to_json(config_);
}

nn::Encoding TransformerModel::run_encoder(Context& context, const nn::Sequences& source, bool all_layers) const {
  nn::Encoding encoding;
  encoding.offsets = source.offsets;
  const Variable x = source_embeddings_(context, source.tokens, source.positions);
  encoding.states = encoder_(context, x, encoding.offsets, all_layers ? &encoding.layers : nullptr);
  return encoding;
}

nn::Decoding TransformerModel::run_decoder(Context& context, const nn::Sequences& next, nn::DecoderState& state,
                                           bool all_layers) const {
  nn::Decoding decoding;
  const Variable x = target_embeddings_(context, next.tokens, next.positions);
  decoding.states =
      vocabulary_.for_output(context, run_decoder_layers(context, x, state, all_layers ? &decoding.layers : nullptr));
  return decoding;
}

}  // namespace dragoman::transformer
