#include "dragoman/transformer/config.h"

#include "dragoman/transformer/option_table.h"

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::transformer {
namespace {

using core::Json;
using core::OptionReader;
using ops::Activation;

constexpr std::int64_t kWidest = 1 << 16;
constexpr core::NumberRange<std::int64_t> kWidth{.least = 1, .most = kWidest};
constexpr core::NumberRange<int> kDepth{.least = 1, .most = 1024};
constexpr core::NumberRange<double> kRate{.least = 0, .most = 1, .most_included = false};

const core::OptionTable<Dropout>& dropout_table() {
  static const auto table =
      core::OptionTable<Dropout>()
          .number("embedding", &Dropout::embedding, kRate, "P", "on the sum of embedding and position")
          .number("sub_layer", &Dropout::sub_layer, kRate, "P",
                  "on the output of each sub-layer, before the residual sum")
          .number("activation", &Dropout::activation, kRate, "P", "within feed-forward layers, behind the activation")
          .number("attention", &Dropout::attention, kRate, "P", "on attention weights")
          .number("layer", &Dropout::layer, kRate, "P", "of whole layers (LayerDrop)");
  return table;
}

/// A number sets the two places of the original paper; an object sets each place.
void read_dropout(OptionReader& options, Config& config) {
  if (options.subtree("dropout").is_number()) {
    config.dropout.embedding = config.dropout.sub_layer = options.get("dropout", 0.0);
    options.check(kRate.contains(config.dropout.embedding), "dropout", kRate.demand());
    return;
  }
  OptionReader places = options.child("dropout");
  dropout_table().read(places, config.dropout);
  places.finish();
}

std::vector<core::Option> dropout_options() {
  std::vector<core::Option> options{
      {.name = "dropout", .placeholder = "P", .help = "embedding and sub_layer below at once, in place of the object"}};
  for (core::Option option : dropout_table().options()) {
    option.name.insert(0, "dropout.");
    options.push_back(std::move(option));
  }
  return options;
}

std::vector<int> read_numbers(OptionReader& options, const std::string& key) {
  std::vector<int> numbers;
  if (!options.has(key)) return numbers;
  const Json& list = options.subtree(key);
  options.check(list.is_array(), key, "must be a list of numbers");
  for (const Json& number : list) {
    options.check(number.is_number_integer() && number >= 0 && number < 1024, key,
                  "must be a list of whole numbers from 0 to 1023");
    numbers.push_back(number.get<int>());
  }
  return numbers;
}

core::Option tied_layers_option(const std::string& name, const char* stack) {
  return {.name = name,
          .placeholder = "[N, ...]",
          .help = fmt::format("which parameters each layer of the {} has, from 0: [0, 0, 1, 1] are two sets of two "
                              "layers; []: each its own",
                              stack),
          .fallback = Json::array()};
}

void check_tied_layers(const std::vector<int>& tied, int layers, const char* key, const OptionReader& options) {
  if (tied.empty()) return;
  options.check(tied.size() == static_cast<std::size_t>(layers), key,
                fmt::format("has {} numbers for {} layers", tied.size(), layers));
  int next = 0;
  for (const int number : tied) {
    options.check(number <= next, key,
                  fmt::format("has {} where at most {} can stand: a new number is the least that there was not yet, "
                              "from 0",
                              number, next));
    if (number == next) ++next;
  }
}

void check(const Config& config, const OptionReader& options) {
  check_tied_layers(config.encoder_tied_layers, config.encoder_layers, "encoder_tied_layers", options);
  check_tied_layers(config.decoder_tied_layers, config.decoder_layers, "decoder_tied_layers", options);
  options.check(config.d_model % config.heads == 0, "heads", "must divide d_model");
  options.check(config.positions == nn::PositionKind::kLearned || config.d_model % 2 == 0, "d_model",
                "must be even for sinusoidal positions");
  options.check(config.positions != nn::PositionKind::kLearned || config.position_base == nn::kPositionBase,
                "position_base", "is of sinusoidal positions, but positions are learned");
  options.check(
      config.output_width == 0 || config.output_width == config.d_model || !ties_output(config.tying), "output_width",
      fmt::format("is {}, but the output matrix is the target's table of embeddings, of d_model {}; they must "
                  "be equal, or tying be none or source-target",
                  config.output_width, config.d_model));
  options.check(config.alignment_layer < config.decoder_layers && config.alignment_layer >= -config.decoder_layers,
                "alignment_layer", "is not a decoder layer");
  options.check(config.alignment_heads <= config.heads, "alignment_heads", "must lie in 1 .. heads");
}

}  // namespace

const core::OptionTable<Config>& option_table() {
  static const auto table =
      core::OptionTable<Config>()
          .number("d_model", &Config::d_model, kWidth, "N", "width of embeddings and layers")
          .number("heads", &Config::heads, {.least = 1}, "N", "of attention; they divide d_model")
          .number("feed_forward", &Config::feed_forward, {.least = 1, .most = 4 * kWidest}, "N",
                  "width within feed-forward layers")
          .number("encoder_layers", &Config::encoder_layers, kDepth, "N", "layers of the encoder")
          .number("decoder_layers", &Config::decoder_layers, kDepth, "N", "layers of the decoder")
          .custom(
              {tied_layers_option("encoder_tied_layers", "encoder")},
              [](OptionReader& options, Config& config) {
                config.encoder_tied_layers = read_numbers(options, "encoder_tied_layers");
              },
              [](const Config& config, Json& json) { json["encoder_tied_layers"] = config.encoder_tied_layers; })
          .custom(
              {tied_layers_option("decoder_tied_layers", "decoder")},
              [](OptionReader& options, Config& config) {
                config.decoder_tied_layers = read_numbers(options, "decoder_tied_layers");
              },
              [](const Config& config, Json& json) { json["decoder_tied_layers"] = config.decoder_tied_layers; })
          .choice("norm", &Config::norm, {{"pre", NormPlace::kPre}, {"post", NormPlace::kPost}}, "PLACE",
                  "LayerNorm in front of each sub-layer, or behind the residual sum as in Vaswani et al. 2017")
          .custom(
              {{.name = "final_norm",
                .placeholder = {},
                .help = "a LayerNorm behind each stack (default: with norm: pre)",
                .choices = {"true", "false"}}},
              [](OptionReader& options, Config& config) {
                config.final_norm = options.get("final_norm", config.norm == NormPlace::kPre);
              },
              [](const Config& config, Json& json) { json["final_norm"] = config.final_norm; })
          .number("layer_norm_epsilon", &Config::layer_norm_epsilon,
                  {.least = 0, .most = 1, .least_included = false, .most_included = false}, "X",
                  "what LayerNorm adds to the variance")
          .choice("query_scaling", &Config::query_scaling,
                  {{"late", QueryScalingPlace::kLate}, {"early", QueryScalingPlace::kEarly}}, "PLACE",
                  "what is divided by the root of a head's width: its scores, or, as in fairseq, its queries")
          // The gated forms are named as in Shazeer 2020.
          .choice("activation", &Config::activation,
                  {{"relu", {Activation::kRelu, false}},
                   {"gelu", {Activation::kGelu, false}},
                   {"swish", {Activation::kSwish, false}},
                   {"glu", {Activation::kSigmoid, true}},
                   {"reglu", {Activation::kRelu, true}},
                   {"geglu", {Activation::kGelu, true}},
                   {"swiglu", {Activation::kSwish, true}}},
                  "NAME", "of feed-forward layers; those that end in glu are gated")
          .choice("positions", &Config::positions, nn::position_kinds(), "NAME",
                  "how positions are encoded: the paper's sinusoids, MarianMT's of Hugging Face, tensor2tensor's, "
                  "fairseq's and Marian's, or learned")
          .number("position_offset", &Config::position_offset, {.least = 0, .most = 1024}, "N",
                  "the number of the first position; fairseq's is 2")
          .number("position_base", &Config::position_base, {.least = 1, .most = 1e12, .least_included = false}, "X",
                  "of sinusoids: the wave lengths run from 2 pi to about 2 pi times this")
          .flag("embedding_scale", &Config::embedding_scale, "embeddings are multiplied by the root of d_model")
          .flag("embedding_norm", &Config::embedding_norm, "a LayerNorm on the sum of embedding and position")
          .choice("tying", &Config::tying,
                  {{"none", Tying::kNone},
                   {"source-target", Tying::kSourceTarget},
                   {"target-output", Tying::kTargetOutput},
                   {"all", Tying::kAll}},
                  "WHICH", "matrices of the vocabularies that are one parameter; all needs one vocabulary")
          .choice("init", &Config::init,
                  {{"default", TableInit::kDefault}, {"xavier-uniform", TableInit::kXavierUniform}}, "NAME",
                  "how embeddings, learned positions and output matrix are drawn: N(0, 1/d_model), or as all other "
                  "matrices are")
          .number("output_width", &Config::output_width, {.least = 0, .most = kWidest}, "N",
                  "width to which a projection without bias brings the decoder's states in front of the output matrix; "
                  "0: none")
          .flag("output_bias", &Config::output_bias, "a bias on the logits")
          .custom(dropout_options(), read_dropout,
                  [](const Config& config, Json& json) {
                    json["dropout"] = Json::object();
                    dropout_table().write(config.dropout, json["dropout"]);
                  })
          .number("alignment_layer", &Config::alignment_layer, {.least = -1024, .most = 1023}, "N",
                  "the decoder layer whose attention is the word alignment; negative: from the last")
          .number("alignment_heads", &Config::alignment_heads, {.least = 1}, "N",
                  "how many of its first heads are averaged for it");
  return table;
}

Config read_config(const Json& json, const std::string& where) {
  OptionReader options(json, where);
  Config config;
  option_table().read(options, config);
  options.finish();
  check(config, options);
  return config;
}

Json to_json(const Config& config) {
  Json json = Json::object();
  option_table().write(config, json);
  return json;
}

}  // namespace dragoman::transformer
