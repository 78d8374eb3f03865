#include "dragoman/t5/t5.h"

#include "layers.h"

#include <cmath>
#include <deque>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>

namespace dragoman::t5 {
namespace {

/// Adds a matrix with one row for each piece, initialised like T5's.
nn::Parameter& make_table(const Scope& scope, const nn::SequenceSpec& spec, const Config& config) {
  return scope.matrix("weight", spec.target_vocabulary, config.d_model, nn::Initialiser::normal(1));
}

/// The sequences that layers attend to, in a form that a recomputed layer may hold. Offsets are copied, because they
/// may end before the backward pass. The decoder's state lives longer and is held by pointer.
class HeldOffsets {
 public:
  explicit HeldOffsets(const ops::Offsets& offsets) : offsets_(offsets) {}
  const ops::Offsets& operator*() const noexcept { return offsets_; }

 private:
  ops::Offsets offsets_;
};
HeldOffsets held(const ops::Offsets& offsets) {
  return HeldOffsets(offsets);
}
nn::DecoderState* held(nn::DecoderState& state) {
  return &state;
}

/// A stack of layers with its final norm and shared bias.
template <class Layer>
struct Stack {
  std::optional<RelativeBias> bias;
  std::deque<Layer> layers;
  nn::RmsNorm final_norm;

  template <class... State>
  Stack(const Scope& scope, const Config& config, int depth, bool bidirectional, State&... state)
      : final_norm(scope / "final_norm", config.d_model, config.layer_norm_epsilon) {
    if (!config.relative_bias_of_each_layer) bias.emplace(scope / "relative_bias", config, bidirectional);
    for (int i = 0; i < depth; ++i) layers.emplace_back(scope / "layers" / i, config, state...);
  }

  /// Maps x [T, d_model] through all layers. `along` holds the sequences that they attend to. If `states` is not null,
  /// it receives x and then every layer's output.
  template <class Along>
  Variable run(Context& context, const Variable& x, Along& along, double dropout, std::vector<Variable>* states) const {
    const Variable shared = bias ? (*bias)(context) : Variable{};
    Residual residual(x, dropout);
    if (states != nullptr) states->push_back(x);
    {
      tensor::LayerMemory memory(context, states == nullptr);
      for (const Layer& layer : layers) {
        memory.next_layer();
        residual.run(context,
                     [&layer, held = held(along), shared](Context& ctx, Residual& r) { layer(ctx, r, *held, shared); });
        if (states != nullptr) states->push_back(residual.value(context));
      }
    }
    return ops::dropout(context, residual.input(context, final_norm), dropout);
  }
};

class T5 final : public nn::Seq2SeqModel {
 public:
  T5(const nn::SequenceSpec& spec, const Config& config)
      : Seq2SeqModel(spec),
        config_(config),
        embedding_(&make_table(Scope(parameters()) / "embedding", spec, config)),
        output_(config.tied_output ? embedding_ : &make_table(Scope(parameters()) / "output", spec, config)),
        encoder_(Scope(parameters()) / "encoder", config, config.encoder_layers, true),
        decoder_(Scope(parameters()) / "decoder", config, config.decoder_layers, false, mutable_layout()) {
    embedding_->is_table = true;
    output_->is_weight = true;
  }

  std::vector<nn::KeyValue> memories(Context& context, const nn::Encoding& encoding) const override {
    std::vector<nn::KeyValue> result;
    result.reserve(decoder_.layers.size());
    for (const DecoderLayer& layer : decoder_.layers) result.push_back(layer.memory(context, encoding.states));
    return result;
  }
  ops::Projection output() const override { return {output_->weight(), {}}; }
  nn::EmbeddingTables embedding_tables() const override { return {embedding_, embedding_}; }
  nn::AlignmentHeads alignment_heads() const override {
    const int chosen = config_.alignment_layer;
    const auto layer = static_cast<std::size_t>(chosen < 0 ? chosen + config_.decoder_layers : chosen);
    return {decoder_.layers[layer].memory_id(), config_.alignment_heads};
  }
  core::Json config() const override { return to_json(config_); }

 protected:
  nn::Encoding run_encoder(Context& context, const nn::Sequences& source, bool all_layers) const override {
    nn::Encoding encoding;
    encoding.offsets = source.offsets;
    encoding.states = encoder_.run(context, embed(context, source), encoding.offsets, config_.dropout,
                                   all_layers ? &encoding.layers : nullptr);
    return encoding;
  }
  nn::Decoding run_decoder(Context& context, const nn::Sequences& next, nn::DecoderState& state,
                           bool all_layers) const override {
    nn::Decoding decoding;
    const Variable states =
        decoder_.run(context, embed(context, next), state, config_.dropout, all_layers ? &decoding.layers : nullptr);
    decoding.states = config_.scaled_output
                          ? ops::scale(context, states, 1 / std::sqrt(static_cast<double>(config_.d_model)))
                          : states;
    return decoding;
  }

 private:
  Variable embed(Context& context, const nn::Sequences& tokens) const {
    return ops::embedding(context, tokens.tokens, embedding_->weight(), {}, {}, {.dropout = config_.dropout});
  }

  Config config_;
  nn::Parameter* embedding_;
  nn::Parameter* output_;
  Stack<EncoderLayer> encoder_;
  Stack<DecoderLayer> decoder_;
};

}  // namespace

std::unique_ptr<nn::Seq2SeqModel> make_t5(const nn::SequenceSpec& spec, const core::Json& config) {
  core::require(spec.source_vocabulary == spec.target_vocabulary, core::ErrorCode::kBadInput,
                "a model of the type t5 has one joint vocabulary, but the sides have {} and {} pieces",
                spec.source_vocabulary, spec.target_vocabulary);
  return std::make_unique<T5>(spec, read_config(config, "model"));
}

}  // namespace dragoman::t5
