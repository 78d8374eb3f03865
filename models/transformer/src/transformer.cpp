#include "dragoman/transformer/transformer.h"

#include "dragoman/transformer/decoder.h"
#include "dragoman/transformer/embeddings.h"
#include "dragoman/transformer/encoder.h"
#include "dragoman/transformer/vocabulary_matrices.h"

#include <dragoman/core/json.h>

namespace dragoman::transformer {
namespace {

using nn::Decoding;
using nn::Encoding;
using nn::RaggedTokens;

class Transformer final : public nn::Seq2SeqModel {
 public:
  Transformer(const nn::SequenceSpec& spec, const Config& config)
      : Seq2SeqModel(spec),
        config_(config),
        vocabulary_(root(), spec, config),
        source_embeddings_(root() / "encoder", vocabulary_.source(), spec.maximum_source_length, config),
        encoder_(root() / "encoder", config),
        target_embeddings_(root() / "decoder", vocabulary_.target(), spec.maximum_target_length, config),
        decoder_(root() / "decoder", config, mutable_layout()) {}

  std::vector<nn::KeyValue> memories(Context& context, const Encoding& encoding) const override {
    return decoder_.memories(context, encoding.states);
  }
  ops::Projection output() const override { return vocabulary_.output(); }
  nn::AlignmentHeads alignment_heads() const override {
    return {decoder_.memory_of(config_.alignment_layer), config_.alignment_heads};
  }
  bool recordable_in_training() const override { return config_.dropout.layer == 0; }
  nn::EmbeddingTables embedding_tables() const override { return {&vocabulary_.source(), &vocabulary_.target()}; }
  std::int64_t width() const override { return config_.d_model; }
  core::Json config() const override { return to_json(config_); }

 protected:
  Encoding run_encoder(Context& context, const nn::Sequences& source, bool all_layers) const override {
    Encoding encoding;
    encoding.offsets = source.offsets;
    const Variable x = source_embeddings_(context, source.tokens, source.positions);
    encoding.states = encoder_(context, x, encoding.offsets, all_layers ? &encoding.layers : nullptr);
    return encoding;
  }

  Decoding run_decoder(Context& context, const nn::Sequences& next, nn::DecoderState& state,
                       bool all_layers) const override {
    Decoding decoding;
    const Variable x = target_embeddings_(context, next.tokens, next.positions);
    decoding.states =
        vocabulary_.for_output(context, decoder_(context, x, state, all_layers ? &decoding.layers : nullptr));
    return decoding;
  }

 private:
  Scope root() { return Scope(parameters()); }

  Config config_;
  VocabularyMatrices vocabulary_;
  Embeddings source_embeddings_;
  Encoder encoder_;
  Embeddings target_embeddings_;
  Decoder decoder_;
};

}  // namespace

std::unique_ptr<nn::Seq2SeqModel> make_transformer(const nn::SequenceSpec& spec, const core::Json& config) {
  return std::make_unique<Transformer>(spec, read_config(config, "model"));
}

}  // namespace dragoman::transformer
