#include "dragoman/transformer/transformer.h"

#include "dragoman/transformer/decoder.h"
#include "dragoman/transformer/transformer_model.h"

#include <dragoman/core/json.h>

namespace dragoman::transformer {
namespace {

class Transformer final : public TransformerModel {
 public:
  Transformer(const nn::SequenceSpec& spec, const Config& config)
      : TransformerModel(spec, config), decoder_(decoder_scope(), config, mutable_layout()) {}

  std::vector<nn::KeyValue> memories(Context& context, const nn::Encoding& encoding) const override {
    return decoder_.memories(context, encoding.states);
  }
  nn::AlignmentHeads alignment_heads() const override {
    return {decoder_.memory_of(settings().alignment_layer), settings().alignment_heads};
  }

 protected:
  Variable run_decoder_layers(Context& context, const Variable& x, nn::DecoderState& state,
                              std::vector<Variable>* layers) const override {
    return decoder_(context, x, state, layers);
  }

 private:
  Decoder decoder_;
};

}  // namespace

std::unique_ptr<nn::Seq2SeqModel> make_transformer(const nn::SequenceSpec& spec, const core::Json& config) {
  return std::make_unique<Transformer>(spec, read_config(config, "model"));
}

}  // namespace dragoman::transformer
