#pragma once

#include <deque>
#include <optional>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/attention_layers.h>
#include <dragoman/transformer/residual_stream.h>
#include <dragoman/transformer/stack.h>
#include <dragoman/transformer/transformer_model.h>

namespace dragoman::transformer {

/// A sub-layer that replaces causal self-attention in a decoder layer: it gives a target token access to the tokens
/// before it. It keeps the required data in the state that it is given. It must compute the same results for whole
/// targets and for one token at a time.
template <class Mixer>
concept TokenMixer = std::constructible_from<Mixer, const Scope&, const Config&, nn::StateLayout&> &&
    requires(const Mixer& mixer, Context& context, const Variable& x, nn::DecoderState& state) {
  { Mixer::kName } -> std::convertible_to<std::string_view>;  ///< the scope of its parameters
  { mixer(context, x, state) } -> std::same_as<Variable>;     ///< x [T, d] -> [T, d]
};

/// A decoder layer with any mixer: mixer, attention to the source, feed-forward.
template <TokenMixer Mixer>
class VariantDecoderLayer {
 public:
  VariantDecoderLayer(const Scope& scope, const Config& config, nn::StateLayout& layout)
      : mixer_norm_(scope / (std::string(Mixer::kName) + "_norm"), config.d_model, config.layer_norm_epsilon),
        mixer_(scope / Mixer::kName, config, layout),
        cross_attention_norm_(scope / "cross_attention_norm", config.d_model, config.layer_norm_epsilon),
        cross_attention_(scope / "cross_attention", config, layout),
        feed_forward_norm_(scope / "feed_forward_norm", config.d_model, config.layer_norm_epsilon),
        feed_forward_(scope / "feed_forward", config.d_model, config.feed_forward, config.activation,
                      config.dropout.activation) {}

  void operator()(Context& context, ResidualStream& stream, nn::DecoderState& state) const {
    stream.output(context, mixer_norm_, mixer_(context, stream.input(context, mixer_norm_), state));
    stream.output(context, cross_attention_norm_,
                  cross_attention_(context, stream.input(context, cross_attention_norm_), state));
    stream.output(context, feed_forward_norm_, feed_forward_(context, stream.input(context, feed_forward_norm_)));
  }
  const CrossAttention& cross_attention() const noexcept { return cross_attention_; }

 private:
  nn::LayerNorm mixer_norm_;
  Mixer mixer_;
  nn::LayerNorm cross_attention_norm_;
  CrossAttention cross_attention_;
  nn::LayerNorm feed_forward_norm_;
  nn::FeedForward feed_forward_;
};

/// A complete model, for plugins that change only the way in which the decoder reads its history. It has the
/// Transformer's configuration.
///
///     struct MyMixer : CausalSelfAttention {
///       static constexpr const char* kName = "mixer";
///       using CausalSelfAttention::CausalSelfAttention;
///     };
///     const plugins::ModelFactory factory = TransformerVariant<MyMixer>::make;     // plugins/registrar.h
///
/// Lifetime and threads are as for nn::Seq2SeqModel.
template <TokenMixer Mixer>
class TransformerVariant final : public TransformerModel {
 public:
  TransformerVariant(const nn::SequenceSpec& spec, const Config& config) : TransformerModel(spec, config) {
    for (int i = 0; i < config.decoder_layers; ++i)
      layers_.emplace_back(layer_scope(decoder_scope(), config.decoder_tied_layers, i), config, mutable_layout());
    if (config.final_norm)
      final_norm_.emplace(decoder_scope() / "final_norm", config.d_model, config.layer_norm_epsilon);
  }

  /// A factory for plugins::ModelEntry.
  static std::unique_ptr<nn::Seq2SeqModel> make(const nn::SequenceSpec& spec, const core::Json& config) {
    return std::make_unique<TransformerVariant>(spec, read_config(config, "model"));
  }

  std::vector<nn::KeyValue> memories(Context& context, const nn::Encoding& encoding) const override {
    std::vector<nn::KeyValue> result;
    result.reserve(layers_.size());
    for (const auto& layer : layers_) result.push_back(layer.cross_attention().memory(context, encoding.states));
    return result;
  }
  nn::AlignmentHeads alignment_heads() const override {
    const int last = static_cast<int>(layers_.size());
    const int chosen = settings().alignment_layer;
    const auto layer = static_cast<std::size_t>(chosen < 0 ? chosen + last : chosen);
    return {layers_[layer].cross_attention().memory_id(), settings().alignment_heads};
  }
  /// The mixer's constant kRecordable if it has one, otherwise true.
  bool recordable() const override {
    if constexpr (requires { Mixer::kRecordable; }) return Mixer::kRecordable;
    return true;
  }

 protected:
  Variable run_decoder_layers(Context& context, const Variable& x, nn::DecoderState& state,
                              std::vector<Variable>* layers) const override {
    ResidualStream stream(settings(), x);
    if (layers != nullptr) layers->push_back(x);
    for (const auto& layer : layers_) {
      if (!leaves_layer_out(context, settings())) layer(context, stream, state);
      if (layers != nullptr) layers->push_back(stream.value(context));
    }
    return stream.close(context, final_norm_ ? &*final_norm_ : nullptr);
  }

 private:
  std::deque<VariantDecoderLayer<Mixer>> layers_;
  std::optional<nn::LayerNorm> final_norm_;
};

}  // namespace dragoman::transformer
