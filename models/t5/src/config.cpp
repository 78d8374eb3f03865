#include "dragoman/t5/config.h"

#include "dragoman/t5/option_table.h"

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::t5 {
namespace {

using core::OptionReader;
using ops::Activation;

constexpr std::int64_t kWidest = 1 << 16;
constexpr core::NumberRange<std::int64_t> kWidth{.least = 1, .most = kWidest};
constexpr core::NumberRange<int> kDepth{.least = 1, .most = 1024};

void check(const Config& config, const OptionReader& options) {
  options.check(config.heads * config.head_width <= kWidest, "head_width",
                fmt::format("times heads is more than {}", kWidest));
  options.check(config.relative_buckets % 2 == 0, "relative_buckets",
                "must be even: an encoder has as many for either direction");
  options.check(config.relative_distance > config.relative_buckets / 2, "relative_distance",
                "must be more than half of relative_buckets, which are for single distances");
  options.check(config.alignment_layer < config.decoder_layers && config.alignment_layer >= -config.decoder_layers,
                "alignment_layer", "is not a decoder layer");
  options.check(config.alignment_heads <= config.heads, "alignment_heads", "must lie in 1 .. heads");
}

}  // namespace

const core::OptionTable<Config>& option_table() {
  static const auto table =
      core::OptionTable<Config>()
          .number("d_model", &Config::d_model, kWidth, "N", "width of embeddings and layers")
          .number("heads", &Config::heads, {.least = 1, .most = 1024}, "N", "attention heads")
          .number("head_width", &Config::head_width, kWidth, "N",
                  "width of a head (d_kv in T5); heads times head_width may differ from d_model")
          .number("feed_forward", &Config::feed_forward, {.least = 1, .most = 4 * kWidest}, "N",
                  "inner width of feed-forward layers; of each half if they are gated")
          .number("encoder_layers", &Config::encoder_layers, kDepth, "N", "layers of the encoder")
          .number("decoder_layers", &Config::decoder_layers, kDepth, "N", "layers of the decoder")
          // T5 calls the gated form of gelu_tanh "gated-gelu".
          .choice(
              "activation", &Config::activation,
              {{"relu", {Activation::kRelu, false}},
               {"gelu", {Activation::kGelu, false}},
               {"gelu-tanh", {Activation::kGeluTanh, false}},
               {"swish", {Activation::kSwish, false}},
               {"gated-relu", {Activation::kRelu, true}},
               {"gated-gelu", {Activation::kGeluTanh, true}},
               {"gated-swish", {Activation::kSwish, true}}},
              "NAME",
              "activation of feed-forward layers: relu in T5 1.0, gated-gelu (GELU approximated by tanh) in T5 1.1, "
              "mT5 and MADLAD")
          .number("relative_buckets", &Config::relative_buckets, {.least = 4, .most = 512}, "N",
                  "buckets of distances between tokens; each bucket has a bias")
          .number("relative_distance", &Config::relative_distance, {.least = 3, .most = 4096}, "N",
                  "distance from which all tokens share the last bucket")
          .flag("relative_bias_of_each_layer", &Config::relative_bias_of_each_layer,
                "every layer has its own biases, as in umT5; otherwise the layers of a stack share them")
          .number("layer_norm_epsilon", &Config::layer_norm_epsilon,
                  {.least = 0, .most = 1, .least_included = false, .most_included = false}, "X",
                  "constant that norms add to the mean square")
          .flag("tied_output", &Config::tied_output,
                "use the embedding table as the output matrix, as in T5 1.0; unless scaled_output is false, states are "
                "divided by the root of d_model")
          .flag("scaled_output", &Config::scaled_output,
                "divide states by the root of d_model before the output matrix (default: the value of tied_output)")
          .number(
              "dropout", &Config::dropout, {.least = 0, .most = 1, .most_included = false}, "P",
              "dropout of embeddings, attention weights, inner activations, and the outputs of sub-layers and stacks")
          .number("alignment_layer", &Config::alignment_layer, {.least = -1024, .most = 1023}, "N",
                  "the decoder layer whose attention is the word alignment; negative: from the last")
          .number("alignment_heads", &Config::alignment_heads, {.least = 1}, "N",
                  "number of its first heads that are averaged");
  return table;
}

Config read_config(const core::Json& json, const std::string& where) {
  OptionReader options(json, where);
  Config config;
  option_table().read(options, config);
  if (options.subtree("scaled_output").is_null()) config.scaled_output = config.tied_output;
  options.finish();
  check(config, options);
  return config;
}

core::Json to_json(const Config& config) {
  core::Json json = core::Json::object();
  option_table().write(config, json);
  // Older versions do not know this key. Without it they can still read the models that do not need it.
  if (config.scaled_output == config.tied_output) json.erase("scaled_output");
  return json;
}

}  // namespace dragoman::t5
