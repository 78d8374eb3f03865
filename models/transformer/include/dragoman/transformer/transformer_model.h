#pragma once

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/embeddings.h>
#include <dragoman/transformer/encoder.h>
#include <dragoman/transformer/vocabulary_matrices.h>

namespace dragoman::transformer {

/// A Transformer without the layers of its decoder: the base class of models with other decoder layers. It implements
/// everything of nn::Seq2SeqModel except run_decoder_layers() and memories(). Lifetime and threads are as there.
class TransformerModel : public nn::Seq2SeqModel {
 public:
  ops::Projection output() const final { return vocabulary_.output(); }
  /// False with layer dropout, because the host draws the dropped layers.
  bool recordable_in_training() const override { return recordable() && config_.dropout.layer == 0; }
  nn::EmbeddingTables embedding_tables() const final { return {&vocabulary_.source(), &vocabulary_.target()}; }
  std::int64_t width() const final { return config_.d_model; }
  core::Json config() const final;

 protected:
  TransformerModel(const nn::SequenceSpec& spec, const Config& config);

  const Config& settings() const noexcept { return config_; }
  /// The scope of parameters that subclasses add.
  Scope decoder_scope() { return Scope(parameters()) / "decoder"; }
  /// Maps x [T, d_model], the embedded next tokens of the state's rows, to [T, d_model]. If `layers` is not null, it
  /// receives x and then every layer's output.
  virtual Variable run_decoder_layers(Context& context, const Variable& x, nn::DecoderState& state,
                                      std::vector<Variable>* layers) const = 0;

  nn::Encoding run_encoder(Context& context, const nn::Sequences& source, bool all_layers) const final;
  nn::Decoding run_decoder(Context& context, const nn::Sequences& next, nn::DecoderState& state,
                           bool all_layers) const final;

 private:
  Config config_;
  VocabularyMatrices vocabulary_;
  Embeddings source_embeddings_;
  Encoder encoder_;
  Embeddings target_embeddings_;
};

}  // namespace dragoman::transformer
