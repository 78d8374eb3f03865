/// The encoder-decoder Transformer of Vaswani et al. 2017, composed the way it is taught: a head of attention is a part
/// with matrices of its own, and each part below is made of those above it. With the same weights it computes what the
/// built-in `transformer` does, which has all heads in one matrix and so translates faster.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/slice.h>
#include <dragoman/plugins/plugin.h>
#include <dragoman/transformer/embeddings.h>
#include <dragoman/transformer/vocabulary_matrices.h>

namespace {

using namespace dragoman;
using nn::Scope;
using nn::Variable;
using tensor::Context;
using transformer::Config;
using transformer::Embeddings;

/// Equal parts, named 0, 1, 2, ... A part points to its parameters, so copies of one would share them: each is made
/// anew. `layout` goes to those that keep something from one decoding step to the next.
template <class Part>
std::vector<Part> clones(int count, const Scope& scope, const Config& config, auto&... layout) {
  std::vector<Part> parts;
  for (int i = 0; i < count; ++i) parts.emplace_back(scope / i, config, layout...);
  return parts;
}

/// What all heads have: projections of [T, d_model] to queries, keys and values of width d_model / heads.
struct Head {
  Head(const Scope& scope, const Config& config)
      : width(config.d_model / config.heads),
        dropout(config.dropout.attention),
        query(scope / "query", config.d_model, width),
        key(scope / "key", config.d_model, width),
        value(scope / "value", config.d_model, width) {}
  std::int64_t width;
  double dropout;
  nn::Linear query, key, value;
};

/// A source token looks at its whole sentence.
struct SourceHead : Head {
  using Head::Head;
  Variable operator()(Context& context, const Variable& x, const ops::Offsets& sentences) const {
    const std::array qkv{query(context, x), key(context, x), value(context, x)};
    return ops::attention(context, qkv[0], qkv[1], qkv[2], sentences, sentences, {.dropout = dropout}).output;
  }
};

/// A target token looks at itself and at those before it, whose keys and values are a history of this head's own.
struct TargetHead : Head {
  TargetHead(const Scope& scope, const Config& config, nn::StateLayout& layout)
      : Head(scope, config), history(layout.add_history(width)) {}
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state) const {
    const std::array qkv{query(context, x), key(context, x), value(context, x)};
    return state.attend_history(context, history, qkv[0], qkv[1], qkv[2], 1, dropout);
  }
  nn::HistoryId history;
};

/// A target token looks at the encoded source, whose keys and values are made once per sentence.
struct CrossHead : Head {
  CrossHead(const Scope& scope, const Config& config, nn::StateLayout& layout)
      : Head(scope, config), memory(layout.add_memory(width)) {}
  nn::KeyValue remember(Context& context, const Variable& source) const {
    return {key(context, source), value(context, source)};
  }
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state) const {
    return state.attend_memory(context, memory, query(context, x), 1, dropout);
  }
  nn::MemoryId memory;
};

/// Heads side by side, and a projection of what they found. `where` they look: the source's sentences, or the state.
template <class AnyHead>
struct MultiHead {
  MultiHead(const Scope& scope, const Config& config, auto&... layout)
      : heads(clones<AnyHead>(config.heads, scope / "heads", config, layout...)),
        output(scope / "output", config.d_model, config.d_model) {}
  Variable operator()(Context& context, const Variable& x, auto& where) const {
    std::vector<ops::Placed> found;  // concatenated: the columns of head h begin at h * width
    for (const AnyHead& head : heads)
      found.push_back({head(context, x, where), 0, static_cast<std::int64_t>(found.size()) * head.width});
    return output(context, ops::assemble(context, x.value.rows, x.value.cols, found));
  }
  std::vector<AnyHead> heads;
  nn::Linear output;
};

struct FeedForward : nn::FeedForward {
  FeedForward(const Scope& scope, const Config& config)
      : nn::FeedForward(scope, config.d_model, config.feed_forward, config.activation, config.dropout.activation) {}
};

/// Around every sub-layer: x + dropout(sub_layer(norm(x))), or norm(x + dropout(sub_layer(x))). The norm has the biased
/// variance, and epsilon within the root (Ba, Kiros & Hinton 2016). The sample's deviation plus epsilon, which is often
/// taught, is another function: with its weights, results would differ in the fourth digit.
struct Residual {
  Residual(const Scope& scope, const Config& config)
      : norm(scope / "norm", config.d_model, config.layer_norm_epsilon),
        post(config.norm == transformer::NormPlace::kPost),
        dropout(config.dropout.sub_layer) {}
  Variable operator()(Context& context, const Variable& x, const auto& sub_layer) const {
    if (post) return norm.after_residual(context, x, sub_layer(x), dropout).normalised;
    return ops::add(context, x, ops::dropout(context, sub_layer(norm(context, x)), dropout));
  }
  nn::LayerNorm norm;
  bool post;
  double dropout;
};

struct EncoderLayer {
  EncoderLayer(const Scope& scope, const Config& config)
      : self_attention(scope / "self_attention", config),
        feed_forward(scope / "feed_forward", config),
        residuals(clones<Residual>(2, scope / "residuals", config)) {}
  Variable operator()(Context& context, Variable x, const ops::Offsets& sentences) const {
    x = residuals[0](context, x, [&](const Variable& y) { return self_attention(context, y, sentences); });
    return residuals[1](context, x, [&](const Variable& y) { return feed_forward(context, y); });
  }
  MultiHead<SourceHead> self_attention;
  FeedForward feed_forward;
  std::vector<Residual> residuals;
};

struct DecoderLayer {
  DecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout)
      : self_attention(scope / "self_attention", config, layout),
        cross_attention(scope / "cross_attention", config, layout),
        feed_forward(scope / "feed_forward", config),
        residuals(clones<Residual>(3, scope / "residuals", config)) {}
  Variable operator()(Context& context, Variable x, nn::DecoderState& state) const {
    x = residuals[0](context, x, [&](const Variable& y) { return self_attention(context, y, state); });
    x = residuals[1](context, x, [&](const Variable& y) { return cross_attention(context, y, state); });
    return residuals[2](context, x, [&](const Variable& y) { return feed_forward(context, y); });
  }
  MultiHead<TargetHead> self_attention;
  MultiHead<CrossHead> cross_attention;
  FeedForward feed_forward;
  std::vector<Residual> residuals;
};

/// Layers on top of each other and, unless the norm comes last in each, one more norm.
template <class Layer>
struct Stack {
  Stack(const Scope& scope, const Config& config, int count, auto&... layout)
      : layers(clones<Layer>(count, scope / "layers", config, layout...)) {
    if (config.final_norm) final_norm.emplace(scope / "final_norm", config.d_model, config.layer_norm_epsilon);
  }
  Variable operator()(Context& context, Variable x, auto& where, std::vector<Variable>* outputs) const {
    if (outputs != nullptr) outputs->push_back(x);
    for (const Layer& layer : layers) {
      x = layer(context, x, where);
      if (outputs != nullptr) outputs->push_back(x);
    }
    return final_norm ? (*final_norm)(context, x) : x;
  }
  std::vector<Layer> layers;
  std::optional<nn::LayerNorm> final_norm;
};

/// What an encoder-decoder is made of.
struct Parts {
  Stack<EncoderLayer> encoder;
  Stack<DecoderLayer> decoder;
  Embeddings source_embed;
  Embeddings target_embed;
  /// States to logits. Their softmax is left to loss and search: the logits of a whole batch are too many to keep.
  transformer::VocabularyMatrices generator;
};

/// Knows what each part does, and nothing of how.
class EncoderDecoder final : public nn::Seq2SeqModel {
 public:
  EncoderDecoder(const nn::SequenceSpec& spec, const Config& config)
      : Seq2SeqModel(spec), config_(config), parts_(make_parts(Scope(parameters()), mutable_layout())) {}

  static std::unique_ptr<nn::Seq2SeqModel> make(const nn::SequenceSpec& spec, const core::Json& config) {
    return std::make_unique<EncoderDecoder>(spec, transformer::read_config(config, "model"));
  }

  std::vector<nn::KeyValue> memories(Context& context, const nn::Encoding& source) const override {
    std::vector<nn::KeyValue> result;
    for (const DecoderLayer& layer : parts_.decoder.layers)
      for (const CrossHead& head : layer.cross_attention.heads) result.push_back(head.remember(context, source.states));
    return result;
  }
  ops::Projection output() const override { return parts_.generator.output(); }
  nn::AlignmentHeads alignment_heads() const override {
    const int layer = config_.alignment_layer + (config_.alignment_layer < 0 ? config_.decoder_layers : 0);
    return {parts_.decoder.layers[static_cast<std::size_t>(layer)].cross_attention.heads.front().memory, 1};
  }
  nn::EmbeddingTables embedding_tables() const override {
    return {&parts_.generator.source(), &parts_.generator.target()};
  }
  std::int64_t width() const override { return config_.d_model; }
  core::Json config() const override { return transformer::to_json(config_); }

 protected:
  nn::Encoding run_encoder(Context& context, const nn::Sequences& source, bool all_layers) const override {
    nn::Encoding result{.states = {}, .offsets = source.offsets, .layers = {}};
    const Variable x = parts_.source_embed(context, source.tokens, source.positions);
    result.states = parts_.encoder(context, x, result.offsets, all_layers ? &result.layers : nullptr);
    return result;
  }
  nn::Decoding run_decoder(Context& context, const nn::Sequences& next, nn::DecoderState& state,
                           bool all_layers) const override {
    nn::Decoding result;
    const Variable x = parts_.target_embed(context, next.tokens, next.positions);
    result.states =
        parts_.generator.for_output(context, parts_.decoder(context, x, state, all_layers ? &result.layers : nullptr));
    return result;
  }

 private:
  Parts make_parts(const Scope& scope, nn::StateLayout& layout) const {
    core::require(config_.alignment_heads == 1, core::ErrorCode::kBadInput,
                  "model: alignment_heads must be 1 but is {}: here each head has a memory of its own",
                  config_.alignment_heads);
    // A key that does nothing is worse than none.
    core::require(config_.encoder_tied_layers.empty() && config_.decoder_tied_layers.empty() &&
                      config_.dropout.layer == 0 && config_.query_scaling == transformer::QueryScalingPlace::kLate,
                  core::ErrorCode::kBadInput,
                  "model: encoder_tied_layers, decoder_tied_layers, dropout.layer and query_scaling are the built-in "
                  "transformer's; leave them out");
    const transformer::VocabularyMatrices matrices(scope, spec(), config_);
    // Within braces, they are made from left to right: parameters have one order, whatever the compiler.
    return {{scope / "encoder", config_, config_.encoder_layers},
            {scope / "decoder", config_, config_.decoder_layers, layout},
            {scope / "encoder", matrices.source(), spec().maximum_source_length, config_},
            {scope / "decoder", matrices.target(), spec().maximum_target_length, config_},
            matrices};
  }

  Config config_;
  Parts parts_;
};

void register_from_parts(plugins::Registrar& registrar) {
  const core::Json example = {{"d_model", 8},        {"heads", 2},          {"feed_forward", 12},
                              {"encoder_layers", 2}, {"decoder_layers", 2}, {"dropout", 0}};
  registrar.add(plugins::ModelEntry{"encoder-decoder", "the Transformer, composed of parts of which each head is one",
                                    EncoderDecoder::make, example});
}

}  // namespace

DRAGOMAN_PLUGIN("from-parts", "Apache-2.0", register_from_parts)
