#include "huggingface/t5.h"

#include "huggingface/architecture.h"
#include "huggingface/search_settings.h"
#include "huggingface/t5_tokenizer.h"
#include "weights/config_reader.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using ops::Activation;

/// The defaults of transformers for keys that config.json lacks.
struct T5Defaults {
  const char* type;
  std::int64_t vocabulary;
  std::int64_t feed_forward;
  std::int64_t layers;
  std::int64_t heads;
  const char* activation;
  bool scaled;  ///< unless the configuration specifies it
};
constexpr std::array<T5Defaults, 3> kT5Types{{{"t5", 32128, 2048, 6, 8, "relu", true},
                                              {"mt5", 250112, 1024, 8, 6, "gated-gelu", false},
                                              {"umt5", 250112, 1024, 8, 6, "gated-gelu", true}}};

const T5Defaults& defaults_of(const ConfigReader& config) {
  const std::string type = config.text("model_type", "");
  const auto* const found = std::ranges::find_if(kT5Types, [&](const T5Defaults& known) { return type == known.type; });
  if (found == kT5Types.end()) config.refuse("model_type", fmt::format("is {}", core::quote(type)));
  return *found;
}

/// Reads feed_forward_proj: an activation with an optional prefix "gated-". Of the gated ones, only gated-gelu uses the
/// approximation.
nn::FeedForwardActivation read_t5_activation(const ConfigReader& config, const char* fallback) {
  struct Name {
    std::string_view name;
    Activation activation;
  };
  constexpr std::array<Name, 5> kNames{{{"relu", Activation::kRelu},
                                        {"gelu", Activation::kGelu},
                                        {"gelu_new", Activation::kGeluTanh},
                                        {"silu", Activation::kSwish},
                                        {"swish", Activation::kSwish}}};
  constexpr std::string_view kGated = "gated-";
  const std::string text = config.text("feed_forward_proj", fallback);
  if (text == "gated-gelu") return {Activation::kGeluTanh, true};
  std::string_view name = text;
  const bool gated = name.starts_with(kGated);
  if (gated) name.remove_prefix(kGated.size());
  const auto* const found = std::ranges::find(kNames, name, &Name::name);
  if (found == kNames.end())
    config.refuse("feed_forward_proj",
                  fmt::format("is {}; there are relu, gelu, gelu_new, silu, gated-relu, gated-gelu, gated-gelu_new and "
                              "gated-silu",
                              core::quote(text)));
  return {found->activation, gated};
}

t5::Config read_t5_shape(const ConfigReader& config, const T5Defaults& defaults) {
  t5::Config model;
  model.d_model = config.integer("d_model", 512, 1, 1 << 16);
  model.heads = static_cast<int>(config.integer("num_heads", defaults.heads, 1, 1024));
  model.head_width = config.integer("d_kv", 64, 1, 1 << 16);
  model.feed_forward = config.integer("d_ff", defaults.feed_forward, 1, 1 << 18);
  model.encoder_layers = static_cast<int>(config.integer("num_layers", defaults.layers, 1, 1024));
  model.decoder_layers = static_cast<int>(config.integer("num_decoder_layers", model.encoder_layers, 1, 1024));
  model.activation = read_t5_activation(config, defaults.activation);
  model.relative_buckets = config.integer("relative_attention_num_buckets", 32, 4, 512);
  model.relative_distance = config.integer("relative_attention_max_distance", 128, 3, 4096);
  model.relative_bias_of_each_layer = std::string_view(defaults.type) == "umt5";
  model.layer_norm_epsilon = config.number("layer_norm_epsilon", 1e-6);
  if (model.layer_norm_epsilon <= 0 || model.layer_norm_epsilon >= 1)
    config.refuse("layer_norm_epsilon", "must be above 0 and below 1", ErrorCode::kBadInput);
  // As in transformers 5, `tie_word_embeddings: false` marks T5 1.1 and mT5. Files that version 5 saves have a separate
  // key. The weights show whether the output is the table.
  model.scaled_output = config.flag("scale_decoder_outputs", config.flag("tie_word_embeddings", defaults.scaled));
  if (!defaults.scaled) model.scaled_output = false;
  model.dropout = config.number("dropout_rate", 0.1);
  if (model.dropout < 0 || model.dropout >= 1)
    config.refuse("dropout_rate", "must be at least 0 and below 1", ErrorCode::kBadInput);
  return model;
}

nn::SequenceSpec read_t5_sequences(const ConfigReader& config, const T5Defaults& defaults) {
  nn::SequenceSpec spec;
  spec.source_vocabulary = spec.target_vocabulary = config.size("vocab_size", defaults.vocabulary);
  const auto id = [&](const char* key, std::int64_t fallback) {
    return static_cast<std::int32_t>(config.integer(key, fallback, 0, spec.target_vocabulary - 1));
  };
  spec.end = id("eos_token_id", 1);
  spec.decoder_start = id("decoder_start_token_id", config.integer("pad_token_id", 0, 0, 1 << 24));
  // There is no other first token.
  spec.begin = spec.decoder_start;
  // Relative positions have no maximum. Texts were truncated at this length in training.
  spec.maximum_source_length = spec.maximum_target_length =
      static_cast<std::int32_t>(config.integer("n_positions", 512, 2, 65536));
  return spec;
}

/// A sub-layer in Dragoman and in a T5 block. Sub-layers of a block are numbered, and the feed-forward layer is the
/// last.
struct T5Name {
  std::string_view own;
  int sub_layer;  ///< -1: the last
  std::vector<std::string_view> foreign;
};

const std::vector<T5Name>& t5_names() {
  static const std::vector<T5Name> names{
      {"self_attention_norm", 0, {"layer_norm"}},
      {"self_attention.qkv", 0, {"SelfAttention.q", "SelfAttention.k", "SelfAttention.v"}},
      {"self_attention.out", 0, {"SelfAttention.o"}},
      {"self_attention.relative_bias", 0, {"SelfAttention.relative_attention_bias"}},
      {"cross_attention_norm", 1, {"layer_norm"}},
      {"cross_attention.q", 1, {"EncDecAttention.q"}},
      {"cross_attention.kv", 1, {"EncDecAttention.k", "EncDecAttention.v"}},
      {"cross_attention.out", 1, {"EncDecAttention.o"}},
      {"feed_forward_norm", -1, {"layer_norm"}},
      {"feed_forward.in", -1, {"DenseReluDense.wi"}},
      {"feed_forward.out", -1, {"DenseReluDense.wo"}},
  };
  return names;
}

std::vector<std::string> tensors_of_layer(std::string_view stack, std::string_view layer, std::string_view name,
                                          bool gated) {
  const auto found = std::ranges::find(t5_names(), name, &T5Name::own);
  core::require(found != t5_names().end(), ErrorCode::kInternal, "no tensor is known for {}", name);
  const int last = stack == "decoder" ? 2 : 1;
  const std::string block =
      fmt::format("{}.block.{}.layer.{}.", stack, layer, found->sub_layer < 0 ? last : found->sub_layer);
  std::vector<std::string> tensors;
  for (const std::string_view foreign : found->foreign) tensors.push_back(fmt::format("{}{}.weight", block, foreign));
  if (name == "feed_forward.in" && gated)
    tensors = {block + "DenseReluDense.wi_0.weight", block + "DenseReluDense.wi_1.weight"};
  return tensors;
}

constexpr const char* kTable = "shared.weight";
constexpr const char* kEncoderCopy = "encoder.embed_tokens.weight";
constexpr const char* kDecoderCopy = "decoder.embed_tokens.weight";
constexpr const char* kOutput = "lm_head.weight";
/// A bias of attention to the source, in files saved before transformers noticed that it is unused.
constexpr const char* kUnusedBias = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";

/// Returns the one table of both sides, and the output matrix. Their sizes are compared with the configuration before
/// they are used.
TableTensors read_t5_tables(const ConfigReader& config, const T5Architecture& read, const ForeignTensors& weights) {
  const TableTensors tables = find_tables(weights,
                                          {.shared = kTable,
                                           .encoder = kEncoderCopy,
                                           .decoder = kDecoderCopy,
                                           .output = kOutput,
                                           .substitutes = {kEncoderCopy, kDecoderCopy, kOutput}},
                                          true);
  for (const std::string& name : {tables.encoder, tables.decoder, tables.output})
    if (const auto& shape = weights.get(name).shape;
        shape != std::vector{read.sequences.source_vocabulary, read.model.d_model})
      config.refuse("vocab_size",
                    fmt::format("is {}, and d_model {}, but the table of embeddings is {}",
                                read.sequences.source_vocabulary, read.model.d_model, formats::describe_shape(shape)),
                    ErrorCode::kBadInput);
  if (!tables.encoder_is_decoder)
    core::fail(ErrorCode::kUnsupported,
               "{}: the tensors {} and {} differ: encoder and decoder have a table of embeddings each, and a T5 here "
               "has one for both",
               weights.file(), core::quote(tables.encoder), core::quote(tables.decoder));
  return tables;
}

/// Returns the entry of config.json for a task in its task_specific_params: a prefix, and search settings.
const core::Json& task_of(const HuggingFaceFolder& folder, const std::string& task) {
  const auto tasks = folder.config.find("task_specific_params");
  std::vector<std::string> names;
  if (tasks != folder.config.end() && tasks->is_object()) {
    if (const auto found = tasks->find(task); found != tasks->end() && found->is_object()) return *found;
    for (const auto& [name, settings] : tasks->items()) names.push_back(name);
  }
  core::fail(ErrorCode::kInvalidArgument, "{}: task_specific_params: has no task {}; it has {}", folder.config_name(),
             core::quote(task), names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

formats::ModelContents t5_contents(const HuggingFaceFolder& folder, const T5Architecture& architecture,
                                   std::string card, const std::string& source_prefix) {
  T5Tokenizer tokenizer = read_t5_tokenizer(folder, architecture, source_prefix);
  nn::SequenceSpec sequences = architecture.sequences;
  sequences.unknown = tokenizer.unknown;
  SearchSettings search = read_search_settings(folder, sequences);
  return {.config = {.model_type = "t5",
                     .plugin = {},
                     .sequences = sequences,
                     .model = t5::to_json(architecture.model),
                     .decoding = std::move(search.decoding),
                     .languages = std::move(tokenizer.languages)},
          .tokenizers = {.joint = std::move(tokenizer.spec)},
          .card = std::move(card),
          .warnings = std::move(search.warnings)};
}

class T5Model final : public formats::ImportedModel {
 public:
  T5Model(std::filesystem::path path, formats::ModelContents contents, ForeignTensors weights,
          T5Architecture architecture)
      : ImportedModel(std::move(path), std::move(contents)),
        weights_(std::move(weights)),
        architecture_(std::move(architecture)) {}

  void check(const nn::ParameterStore& parameters) const override {
    for (const nn::Parameter& parameter : parameters.all()) {
      const Rows rows = rows_of(parameter);
      for (const std::string& name : rows.names) weights_.check_shape(name, rows.shape);
    }
  }

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    const Rows rows = rows_of(parameter);
    const std::int64_t share = rows.shape.front();
    std::int64_t first = 0;
    for (const std::string& name : rows.names) {
      weights_.read(name, rows.shape, rows.names.size() == 1 ? out : out.row_range(first, first + share));
      first += share;
    }
  }

  void finish() override {
    for (const char* name : {kTable, kEncoderCopy, kDecoderCopy, kUnusedBias}) weights_.leave(name);
    weights_.leave(kOutput);
    weights_.finish();
  }

 private:
  /// The tensors that contain the rows of a parameter, concatenated, all of one shape.
  struct Rows {
    std::vector<std::string> names;
    std::vector<std::int64_t> shape;
  };

  Rows rows_of(const nn::Parameter& parameter) const {
    Rows rows{t5_tensors(parameter.name, architecture_.model), formats::stored_shape(parameter)};
    if (is_t5_table(parameter.name))
      rows.names = {parameter.name == "output.weight" ? architecture_.tables.output : architecture_.tables.encoder};
    rows.shape.front() /= static_cast<std::int64_t>(rows.names.size());
    return rows;
  }

  ForeignTensors weights_;
  T5Architecture architecture_;
};

}  // namespace

const std::vector<const char*>& t5_model_types() {
  static const std::vector<const char*> types = [] {
    std::vector<const char*> names;
    for (const T5Defaults& known : kT5Types) names.push_back(known.type);
    return names;
  }();
  return types;
}

bool is_t5(const HuggingFaceFolder& folder) {
  const auto type = folder.config.find("model_type");
  return type != folder.config.end() &&
         std::ranges::any_of(t5_model_types(), [&](const char* known) { return *type == core::Json(known); });
}

T5Architecture read_t5(const HuggingFaceFolder& folder, const ForeignTensors& weights) {
  const ConfigReader config(folder.config, folder.config_name());
  const T5Defaults& defaults = defaults_of(config);
  if (config.find("quantization_config") != nullptr)
    config.refuse("quantization_config", "quantised weights of other programs are not read; get those in fp32 or bf16");
  T5Architecture read{
      .model = read_t5_shape(config, defaults), .sequences = read_t5_sequences(config, defaults), .tables = {}};
  read.padding = static_cast<std::int32_t>(config.integer("pad_token_id", 0, 0, 1 << 24));
  read.tables = read_t5_tables(config, read, weights);
  read.model.tied_output = read.tables.output_is_decoder;
  return read;
}

bool is_t5_table(std::string_view parameter) {
  return parameter == "embedding.weight" || parameter == "output.weight";
}

std::vector<std::string> t5_tensors(std::string_view parameter, const t5::Config& config) {
  if (parameter == "output.weight") return {kOutput};
  if (parameter == "embedding.weight") return {kTable};
  const std::size_t first = parameter.find('.');
  const std::string_view stack = parameter.substr(0, first);
  const std::string_view rest = parameter.substr(first + 1);
  if (rest == "final_norm.weight") return {fmt::format("{}.final_layer_norm.weight", stack)};
  if (rest == "relative_bias.weight") return tensors_of_layer(stack, "0", "self_attention.relative_bias", false);
  // Such as "layers.3.feed_forward.in.weight".
  constexpr std::string_view kLayers = "layers.";
  core::require(rest.starts_with(kLayers) && rest.ends_with(".weight"), ErrorCode::kInternal,
                "no tensor is known for {}", parameter);
  const std::size_t dot = rest.find('.', kLayers.size());
  return tensors_of_layer(stack, rest.substr(kLayers.size(), dot - kLayers.size()),
                          rest.substr(dot + 1, rest.rfind('.') - dot - 1), config.activation.gated);
}

std::unique_ptr<formats::OpenedModel> open_t5(HuggingFaceFolder folder, ForeignTensors weights, std::string card,
                                              core::OptionReader& own) {
  std::string prefix = own.get("source_prefix", "");
  if (const std::string task = own.get("task", ""); !task.empty()) {
    const core::Json& settings = task_of(folder, task);
    if (prefix.empty() && settings.contains("prefix") && settings["prefix"].is_string())
      prefix = settings["prefix"].get<std::string>();
    folder.generation.update(settings);
  }
  T5Architecture architecture = read_t5(folder, weights);
  formats::ModelContents contents = t5_contents(folder, architecture, std::move(card), prefix);
  return std::make_unique<T5Model>(folder.path, std::move(contents), std::move(weights), std::move(architecture));
}

}  // namespace dragoman::imports
