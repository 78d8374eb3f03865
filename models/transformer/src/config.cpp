#include "dragoman/transformer/config.h"

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::transformer {
namespace {

using nn::FeedForwardActivation;
using ops::Activation;

template <class Value>
using Names = std::vector<std::pair<std::string_view, Value>>;

const Names<NormPlace> kNormPlaces = {{"pre", NormPlace::kPre}, {"post", NormPlace::kPost}};
const Names<Tying> kTyings = {{"none", Tying::kNone},
                              {"source-target", Tying::kSourceTarget},
                              {"target-output", Tying::kTargetOutput},
                              {"all", Tying::kAll}};
/// Names of the gated forms are those of Shazeer 2020.
const Names<FeedForwardActivation> kActivations = {
    {"relu", {Activation::kRelu, false}},  {"gelu", {Activation::kGelu, false}}, {"swish", {Activation::kSwish, false}},
    {"glu", {Activation::kSigmoid, true}}, {"reglu", {Activation::kRelu, true}}, {"geglu", {Activation::kGelu, true}},
    {"swiglu", {Activation::kSwish, true}}};

template <class Value>
std::string_view name_in(const Names<Value>& names, const Value& value) {
  for (const auto& [name, candidate] : names)
    if (candidate == value) return name;
  return "?";
}

std::string_view name_in(const Names<FeedForwardActivation>& names, const FeedForwardActivation& value) {
  for (const auto& [name, candidate] : names)
    if (candidate.activation == value.activation && candidate.gated == value.gated) return name;
  return "?";
}

/// A number sets the two places that the original paper has; an object sets each place.
Dropout read_dropout(core::OptionReader& options) {
  Dropout dropout;
  if (options.subtree("dropout").is_number()) {
    dropout.embedding = dropout.sub_layer = options.get("dropout", 0.1);
  } else {
    core::OptionReader places = options.child("dropout");
    dropout.embedding = places.get("embedding", dropout.embedding);
    dropout.sub_layer = places.get("sub_layer", dropout.sub_layer);
    dropout.activation = places.get("activation", dropout.activation);
    dropout.attention = places.get("attention", dropout.attention);
    places.finish();
  }
  for (const double rate : {dropout.embedding, dropout.sub_layer, dropout.activation, dropout.attention})
    options.check(rate >= 0 && rate < 1, "dropout", "a rate must lie in [0, 1)");
  return dropout;
}

void check(const Config& config, const core::OptionReader& options) {
  constexpr std::int64_t kWidest = 1 << 16;
  constexpr int kDeepest = 1024;
  options.check(config.d_model > 0 && config.d_model <= kWidest, "d_model", "must lie in 1 .. 65536");
  options.check(config.heads > 0 && config.d_model % config.heads == 0, "heads", "must divide d_model");
  options.check(config.feed_forward > 0 && config.feed_forward <= 4 * kWidest, "feed_forward",
                "must lie in 1 .. 262144");
  options.check(config.encoder_layers > 0 && config.encoder_layers <= kDeepest, "encoder_layers",
                "must lie in 1 .. 1024");
  options.check(config.decoder_layers > 0 && config.decoder_layers <= kDeepest, "decoder_layers",
                "must lie in 1 .. 1024");
  options.check(config.layer_norm_epsilon > 0 && config.layer_norm_epsilon < 1, "layer_norm_epsilon",
                "must lie between 0 and 1");
  options.check(config.position_offset >= 0 && config.position_offset <= 1024, "position_offset",
                "must lie in 0 .. 1024");
  options.check(config.positions == nn::PositionKind::kLearned || config.d_model % 2 == 0, "d_model",
                "must be even for sinusoidal positions");
  options.check(config.alignment_layer < config.decoder_layers && config.alignment_layer >= -config.decoder_layers,
                "alignment_layer", "is not a decoder layer");
  options.check(config.alignment_heads > 0 && config.alignment_heads <= config.heads, "alignment_heads",
                "must lie in 1 .. heads");
}

}  // namespace

Config read_config(const core::Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  Config config;
  config.d_model = options.get("d_model", config.d_model);
  config.heads = options.get("heads", config.heads);
  config.feed_forward = options.get("feed_forward", config.feed_forward);
  config.encoder_layers = options.get("encoder_layers", config.encoder_layers);
  config.decoder_layers = options.get("decoder_layers", config.decoder_layers);
  config.norm = options.choice("norm", config.norm, kNormPlaces);
  config.final_norm = options.get("final_norm", config.norm == NormPlace::kPre);
  config.layer_norm_epsilon = options.get("layer_norm_epsilon", config.layer_norm_epsilon);
  config.activation = options.choice("activation", config.activation, kActivations);
  config.positions = nn::position_kind(options, "positions", config.positions);
  config.position_offset = options.get("position_offset", config.position_offset);
  config.embedding_scale = options.get("embedding_scale", config.embedding_scale);
  config.embedding_norm = options.get("embedding_norm", config.embedding_norm);
  config.tying = options.choice("tying", config.tying, kTyings);
  config.output_bias = options.get("output_bias", config.output_bias);
  config.dropout = read_dropout(options);
  config.alignment_layer = options.get("alignment_layer", config.alignment_layer);
  config.alignment_heads = options.get("alignment_heads", config.alignment_heads);
  options.finish();
  check(config, options);
  return config;
}

core::Json to_json(const Config& config) {
  return {{"d_model", config.d_model},
          {"heads", config.heads},
          {"feed_forward", config.feed_forward},
          {"encoder_layers", config.encoder_layers},
          {"decoder_layers", config.decoder_layers},
          {"norm", name_in(kNormPlaces, config.norm)},
          {"final_norm", config.final_norm},
          {"layer_norm_epsilon", config.layer_norm_epsilon},
          {"activation", name_in(kActivations, config.activation)},
          {"positions", nn::name_of(config.positions)},
          {"position_offset", config.position_offset},
          {"embedding_scale", config.embedding_scale},
          {"embedding_norm", config.embedding_norm},
          {"tying", name_in(kTyings, config.tying)},
          {"output_bias", config.output_bias},
          {"dropout",
           {{"embedding", config.dropout.embedding},
            {"sub_layer", config.dropout.sub_layer},
            {"activation", config.dropout.activation},
            {"attention", config.dropout.attention}}},
          {"alignment_layer", config.alignment_layer},
          {"alignment_heads", config.alignment_heads}};
}

}  // namespace dragoman::transformer
