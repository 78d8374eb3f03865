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
          .number("embedding", &Dropout::embedding, kRate, "P", "dropout of the sum of embedding and position")
          .number("sub_layer", &Dropout::sub_layer, kRate, "P",
                  "dropout of the output of each sub-layer, before the residual sum")
          .number("activation", &Dropout::activation, kRate, "P",
                  "dropout in feed-forward layers, after the activation")
          .number("attention", &Dropout::attention, kRate, "P", "dropout of attention weights")
          .number("layer", &Dropout::layer, kRate, "P", "dropout of whole layers (LayerDrop)");
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
      {.name = "dropout",
       .placeholder = "P",
       .help = "sets both embedding and sub_layer, instead of an object with the keys below"}};
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
  return {
      .name = name,
      .placeholder = "[N, ...]",
      .help = fmt::format("the parameter set of each layer of the {}, from 0: in [0, 0, 1, 1] two layers share each "
                          "of two sets; []: every layer has its own",
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
          .number("heads", &Config::heads, {.least = 1}, "N", "attention heads; their number divides d_model")
          .number("feed_forward", &Config::feed_forward, {.least = 1, .most = 4 * kWidest}, "N",
                  "inner width of feed-forward layers")
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
                  "position of LayerNorm: before each sub-layer, or after the residual sum as in Vaswani et al. 2017")
          .custom(
              {{.name = "final_norm",
                .placeholder = {},
                .help = "a LayerNorm after each stack (default: true with norm: pre)",
                .choices = {"true", "false"}}},
              [](OptionReader& options, Config& config) {
                config.final_norm = options.get("final_norm", config.norm == NormPlace::kPre);
              },
              [](const Config& config, Json& json) { json["final_norm"] = config.final_norm; })
          .number("layer_norm_epsilon", &Config::layer_norm_epsilon,
                  {.least = 0, .most = 1, .least_included = false, .most_included = false}, "X",
                  "constant that LayerNorm adds to the variance")
          .choice("query_scaling", &Config::query_scaling,
                  {{"late", QueryScalingPlace::kLate}, {"early", QueryScalingPlace::kEarly}}, "PLACE",
                  "divide the scores (late) or, as in fairseq, the queries (early) by the root of the head width")
          // The gated forms are named as in Shazeer 2020.
          .choice("activation", &Config::activation,
                  {{"relu", {Activation::kRelu, false}},
                   {"gelu", {Activation::kGelu, false}},
                   {"swish", {Activation::kSwish, false}},
                   {"glu", {Activation::kSigmoid, true}},
                   {"reglu", {Activation::kRelu, true}},
                   {"geglu", {Activation::kGelu, true}},
                   {"swiglu", {Activation::kSwish, true}}},
                  "NAME", "activation of feed-forward layers; names that end in glu are gated")
          .choice("positions", &Config::positions, nn::position_kinds(), "NAME",
                  "position encoding: the sinusoids of the paper, of Hugging Face's MarianMT, or of tensor2tensor, "
                  "fairseq and "
                  "Marian; or learned")
          .number("position_offset", &Config::position_offset, {.least = 0, .most = 1024}, "N",
                  "index of the first position; 2 in fairseq")
          .number("position_base", &Config::position_base, {.least = 1, .most = 1e12, .least_included = false}, "X",
                  "base of sinusoidal positions: wavelengths run from 2 pi to about 2 pi times this value")
          .flag("embedding_scale", &Config::embedding_scale, "multiply embeddings by the root of d_model")
          .flag("embedding_norm", &Config::embedding_norm, "a LayerNorm on the sum of embedding and position")
          .choice("tying", &Config::tying,
                  {{"none", Tying::kNone},
                   {"source-target", Tying::kSourceTarget},
                   {"target-output", Tying::kTargetOutput},
                   {"all", Tying::kAll}},
                  "WHICH", "vocabulary matrices that share one parameter; all needs a joint vocabulary")
          .choice(
              "init", &Config::init, {{"default", TableInit::kDefault}, {"xavier-uniform", TableInit::kXavierUniform}},
              "NAME",
              "initial values of embeddings, learned positions and output matrix: N(0, 1/d_model), or as in all other "
              "matrices")
          .number(
              "output_width", &Config::output_width, {.least = 0, .most = kWidest}, "N",
              "width of a projection without bias between the decoder's states and the output matrix; 0: no projection")
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
