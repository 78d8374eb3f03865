#include "huggingface/architecture.h"

#include "huggingface/t5.h"
#include "weights/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/nn/positions.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;
using Family = HuggingFaceArchitecture::Family;
using transformer::Tying;

struct FamilyName {
  const char* type;
  Family family;
};
constexpr std::array<FamilyName, 5> kFamilies{{{"marian", Family::kMarian},
                                               {"pegasus", Family::kPegasus},
                                               {"bart", Family::kBart},
                                               {"mbart", Family::kMBart},
                                               {"m2m_100", Family::kM2M100}}};

/// Returns whether sequences of the family have no separate begin token.
bool has_no_begin(Family family) {
  return family == Family::kMarian || family == Family::kPegasus;
}

Family read_family(const ConfigReader& config) {
  const std::string type = config.text("model_type", "");
  const auto* const found = std::ranges::find_if(kFamilies, [&](const FamilyName& name) { return type == name.type; });
  if (found == kFamilies.end())
    config.refuse("model_type", fmt::format("is {}; models of the types {} can be imported", core::quote(type),
                                            fmt::join(huggingface_model_types(), ", ")));
  return found->family;
}

nn::FeedForwardActivation read_activation(const ConfigReader& config, const char* fallback) {
  const std::string name = config.text("activation_function", fallback);
  if (name == "relu") return {ops::Activation::kRelu, false};
  if (name == "gelu" || name == "gelu_python") return {ops::Activation::kGelu, false};
  if (name == "swish" || name == "silu") return {ops::Activation::kSwish, false};
  if (name == "tanh") return {ops::Activation::kTanh, false};
  config.refuse(
      "activation_function",
      fmt::format("is {}; there are relu, gelu (with the error function), swish, silu and tanh", core::quote(name)));
}

/// Reads a number that must be equal for both stacks.
std::int64_t read_shared(const ConfigReader& config, const char* encoder, const char* decoder, std::int64_t fallback) {
  const std::int64_t value = config.size(encoder, fallback);
  if (config.size(decoder, fallback) != value)
    config.refuse(decoder, fmt::format("is {} and {} is {}; both stacks must have the same",
                                       config.size(decoder, fallback), encoder, value));
  return value;
}

transformer::Dropout read_dropout(const ConfigReader& config, bool m2m) {
  const auto rate = [&](const char* key, double fallback) {
    const double value = config.number(key, fallback);
    if (value < 0 || value >= 1) config.refuse(key, "must be at least 0 and below 1", ErrorCode::kBadInput);
    return value;
  };
  transformer::Dropout dropout;
  dropout.embedding = dropout.sub_layer = rate("dropout", 0.1);
  dropout.attention = rate("attention_dropout", m2m ? 0.1 : 0);
  dropout.activation = rate("activation_dropout", 0);
  dropout.layer = std::min(rate("encoder_layerdrop", m2m ? 0.05 : 0), rate("decoder_layerdrop", m2m ? 0.05 : 0));
  return dropout;
}

void read_shape(const ConfigReader& config, Family family, transformer::Config& model) {
  model.d_model = config.size("d_model", 1024);
  model.heads = static_cast<int>(read_shared(config, "encoder_attention_heads", "decoder_attention_heads", 16));
  model.feed_forward = read_shared(config, "encoder_ffn_dim", "decoder_ffn_dim", 4096);
  model.encoder_layers = static_cast<int>(config.integer("encoder_layers", 12, 1, 1024));
  model.decoder_layers = static_cast<int>(config.integer("decoder_layers", 12, 1, 1024));
  const bool m2m = family == Family::kM2M100;
  model.activation = read_activation(config, m2m ? "relu" : "gelu");
  model.dropout = read_dropout(config, m2m);
  model.embedding_scale = config.flag("scale_embedding", m2m);
  // As in torch.nn.LayerNorm, and as in its attention.
  model.layer_norm_epsilon = 1e-5;
  model.query_scaling = transformer::QueryScalingPlace::kEarly;
}

/// Sets the differences between the families that no key of config.json specifies.
void set_family(const ConfigReader& config, Family family, transformer::Config& model) {
  using nn::PositionKind;
  using transformer::NormPlace;
  const bool pre = family == Family::kPegasus || family == Family::kMBart || family == Family::kM2M100;
  model.norm = pre ? NormPlace::kPre : NormPlace::kPost;
  model.final_norm = pre;
  model.embedding_norm = family == Family::kBart || family == Family::kMBart;
  config.expect("normalize_before", pre);
  if (family != Family::kM2M100) config.expect("normalize_embedding", model.embedding_norm);
  config.expect("add_final_layer_norm", pre);
  switch (family) {
    case Family::kMarian:
    case Family::kPegasus:
      model.positions =
          config.flag("static_position_embeddings", true) ? PositionKind::kConcatenated : PositionKind::kLearned;
      return;
    case Family::kM2M100:
      // The first position is one after the padding's id (as in fairseq).
      config.expect("static_position_embeddings", true);
      model.positions = PositionKind::kTensor2Tensor;
      model.position_offset = config.integer("pad_token_id", 1, 0, 1000) + 1;
      return;
    case Family::kBart:
    case Family::kMBart:
      config.expect("static_position_embeddings", false);
      model.positions = PositionKind::kLearned;
      model.position_offset = 2;
      return;
  }
}

nn::SequenceSpec read_sequences(const ConfigReader& config, Family family) {
  constexpr std::int64_t kMax = 1 << 24;
  nn::SequenceSpec spec;
  spec.source_vocabulary = config.size("vocab_size", family == Family::kMarian ? 58101 : 50265);
  spec.target_vocabulary = config.size("decoder_vocab_size", spec.source_vocabulary);
  if (family != Family::kMarian) spec.target_vocabulary = spec.source_vocabulary;
  const auto id = [&](const char* key, std::int64_t fallback) {
    return static_cast<std::int32_t>(config.integer(key, fallback, 0, std::min(kMax, spec.target_vocabulary - 1)));
  };
  const bool marian = family == Family::kMarian;
  const bool pegasus = family == Family::kPegasus;
  spec.end = id("eos_token_id", marian ? 0 : pegasus ? 1 : 2);
  spec.begin = id("bos_token_id", has_no_begin(family) ? spec.end : 0);
  const std::int64_t start = marian    ? std::min<std::int64_t>(58100, spec.target_vocabulary - 1)
                             : pegasus ? 0
                                       : spec.end;
  spec.decoder_start = id("decoder_start_token_id", start);
  spec.maximum_source_length = spec.maximum_target_length =
      static_cast<std::int32_t>(config.integer("max_position_embeddings", 1024, 2, 65536));
  return spec;
}

/// Reads a vector of values, which must be small.
std::vector<float> values_of(const ForeignTensors& weights, std::string_view name, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  weights.get(name).read(0, {values.data(), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu});
  return values;
}

std::int64_t count_of(const ForeignTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape)
    if (__builtin_mul_overflow(count, size, &count)) return -1;
  return count;
}

constexpr const char* kLogitsBias = "final_logits_bias";
constexpr const char* kShared = "model.shared.weight";
constexpr const char* kEncoderTable = "model.encoder.embed_tokens.weight";
constexpr const char* kDecoderTable = "model.decoder.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";

bool has_logits_bias(const ForeignTensors& weights, std::int64_t vocabulary) {
  if (!weights.contains(kLogitsBias) || count_of(weights.get(kLogitsBias)) != vocabulary)
    return weights.contains(kLogitsBias);
  return std::ranges::any_of(values_of(weights, kLogitsBias, vocabulary), [](float value) { return value != 0; });
}

TableTensors read_tables(const ConfigReader& config, const ForeignTensors& weights, bool separate) {
  const bool tied = config.flag("tie_word_embeddings", true);
  if (!separate)
    return find_tables(weights,
                       {.shared = kShared,
                        .encoder = kEncoderTable,
                        .decoder = kDecoderTable,
                        .output = kHead,
                        .substitutes = {kHead, kDecoderTable, kEncoderTable}},
                       tied);
  static_cast<void>(weights.get(kEncoderTable));  // throws if it is missing
  TableTensors tables = find_tables(weights,
                                    {.shared = kDecoderTable,
                                     .encoder = kEncoderTable,
                                     .decoder = kDecoderTable,
                                     .output = kHead,
                                     .substitutes = {kHead}},
                                    tied);
  tables.encoder_is_decoder = false;
  return tables;
}

Tying tying_of(const TableTensors& tables) {
  if (tables.encoder_is_decoder) return tables.output_is_decoder ? Tying::kAll : Tying::kSourceTarget;
  return tables.output_is_decoder ? Tying::kTargetOutput : Tying::kNone;
}

/// Throws unless the vocabularies have the sizes of the tables. Called before these sizes are used.
void require_rows(const ConfigReader& config, const HuggingFaceArchitecture& read, const ForeignTensors& weights) {
  const auto require = [&](const char* key, const std::string& name, std::int64_t rows) {
    const ForeignTensor& table = weights.get(name);
    if (table.shape != std::vector{rows, read.model.d_model})
      config.refuse(key,
                    fmt::format("is {}, and d_model {}, but the table of embeddings is {}", rows, read.model.d_model,
                                formats::describe_shape(table.shape)),
                    ErrorCode::kBadInput);
  };
  require("vocab_size", read.tables.encoder, read.sequences.source_vocabulary);
  const char* const key =
      read.sequences.source_vocabulary == read.sequences.target_vocabulary ? "vocab_size" : "decoder_vocab_size";
  require(key, read.tables.decoder, read.sequences.target_vocabulary);
  require(key, read.tables.output, read.sequences.target_vocabulary);
}

/// The names of a sub-layer's tensors in Dragoman and in transformers.
struct SubLayer {
  std::string_view own;
  std::vector<std::string_view> foreign;  ///< the tensors that contain its rows
};

const std::vector<SubLayer>& sub_layers() {
  static const std::vector<SubLayer> all{
      {"self_attention_norm", {"self_attn_layer_norm"}},
      {"self_attention.qkv", {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}},
      {"self_attention.out", {"self_attn.out_proj"}},
      {"cross_attention_norm", {"encoder_attn_layer_norm"}},
      {"cross_attention.q", {"encoder_attn.q_proj"}},
      {"cross_attention.kv", {"encoder_attn.k_proj", "encoder_attn.v_proj"}},
      {"cross_attention.out", {"encoder_attn.out_proj"}},
      {"feed_forward_norm", {"final_layer_norm"}},
      {"feed_forward.in", {"fc1"}},
      {"feed_forward.out", {"fc2"}},
  };
  return all;
}

/// `rest` is the name after "encoder.", such as "layers.3.feed_forward.in.weight".
std::vector<std::string> names_in_layer(std::string_view stack, std::string_view rest) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t dot = rest.find('.', kLayers.size());
  const std::size_t last = rest.rfind('.');
  const std::string_view number = rest.substr(kLayers.size(), dot - kLayers.size());
  const std::string_view name = rest.substr(dot + 1, last - dot - 1);
  const auto found = std::ranges::find(sub_layers(), name, &SubLayer::own);
  core::require(found != sub_layers().end(), ErrorCode::kInternal, "no tensor is known for {}", rest);
  std::vector<std::string> names;
  for (const std::string_view foreign : found->foreign)
    names.push_back(fmt::format("model.{}.layers.{}.{}{}", stack, number, foreign, rest.substr(last)));
  return names;
}

/// Reads a table of positions, which may or may not have unused rows at its beginning.
std::vector<float> position_rows(const ForeignTensors& weights, const std::string& name, std::int64_t width) {
  const ForeignTensor& tensor = weights.get(name);
  if (tensor.shape.size() != 2 || tensor.shape[1] != width || tensor.shape[0] < 1 || tensor.shape[0] > (1 << 17))
    core::fail(ErrorCode::kBadInput, "{}: the tensor {} is no table of positions of width {}", tensor.file,
               core::quote(name), width);
  return values_of(weights, name, count_of(tensor));
}

/// The first value of a table that differs from the sinusoid.
struct Deviation {
  std::int64_t row = 0;
  float value = 0;
  double wanted = 0;
};
std::optional<Deviation> deviation(const std::vector<float>& values, const transformer::Config& model) {
  // fp16 has 11 bits.
  constexpr double kTolerance = 2e-3;
  const std::int64_t width = model.d_model;
  const auto rows = static_cast<std::int64_t>(values.size()) / width;
  const std::vector<double> wanted = nn::sinusoidal_positions(model.positions, rows, width);
  // The row of the padding's id is zero.
  for (auto at = static_cast<std::size_t>(model.position_offset * width); at < values.size(); ++at)
    if (std::abs(static_cast<double>(values[at]) - wanted[at]) > kTolerance)
      return Deviation{static_cast<std::int64_t>(at) / width, values[at], wanted[at]};
  return std::nullopt;
}

void compare_sinusoids(const ForeignTensors& weights, const std::string& name, const transformer::Config& model) {
  if (const auto other = deviation(position_rows(weights, name, model.d_model), model))
    core::fail(ErrorCode::kUnsupported,
               "{}: the tensor {} has {} in row {}, where the sinusoids of this model_type have {}",
               weights.get(name).file, core::quote(name), other->value, other->row, other->wanted);
}

std::string positions_name(std::string_view stack, std::string_view end) {
  return fmt::format("model.{}.embed_positions.{}", stack, end);
}

/// A Marian or Pegasus folder may contain a table of positions, which transformers uses instead of its own sinusoids.
/// Exported models with other sinusoids have one.
void recognise_sinusoids(const ForeignTensors& weights, transformer::Config& model) {
  const std::string name = positions_name("encoder", "weight");
  if (!weights.contains(name) || model.d_model % 2 != 0) return;
  const std::vector<float> values = position_rows(weights, name, model.d_model);
  using nn::PositionKind;
  for (const PositionKind kind :
       {PositionKind::kConcatenated, PositionKind::kInterleaved, PositionKind::kTensor2Tensor}) {
    transformer::Config other = model;
    other.positions = kind;
    if (!deviation(values, other)) {
      model.positions = kind;
      return;
    }
  }
}

}  // namespace

std::vector<const char*> huggingface_model_types() {
  std::vector<const char*> types;
  for (const FamilyName& name : kFamilies) types.push_back(name.type);
  types.insert(types.end(), t5_model_types().begin(), t5_model_types().end());
  return types;
}

HuggingFaceArchitecture read_architecture(const HuggingFaceFolder& folder, const ForeignTensors& weights) {
  const ConfigReader config(folder.config, folder.config_name());
  HuggingFaceArchitecture read;
  read.family = read_family(config);
  if (config.find("quantization_config") != nullptr)
    config.refuse("quantization_config", "quantised weights of other programs are not read; get those in fp32 or fp16");
  if (config.flag("tie_encoder_decoder", false)) config.refuse("tie_encoder_decoder", "is true");
  read_shape(config, read.family, read.model);
  set_family(config, read.family, read.model);
  read.sequences = read_sequences(config, read.family);
  read.padding = static_cast<std::int32_t>(
      config.integer("pad_token_id", has_no_begin(read.family) ? read.sequences.decoder_start : 1, 0, 1 << 24));
  const bool separate = read.family == Family::kMarian && !config.flag("share_encoder_decoder_embeddings", true);
  if (!separate && read.sequences.source_vocabulary != read.sequences.target_vocabulary)
    config.refuse("decoder_vocab_size", "is not vocab_size, but encoder and decoder share their embeddings",
                  ErrorCode::kBadInput);
  read.tables = read_tables(config, weights, separate);
  read.model.tying = tying_of(read.tables);
  require_rows(config, read, weights);
  if (has_no_begin(read.family) && read.model.positions != nn::PositionKind::kLearned)
    recognise_sinusoids(weights, read.model);
  // transformers computes M2M-100 without a bias, and ignores one in the file.
  read.model.output_bias = read.family != Family::kM2M100 && has_logits_bias(weights, read.sequences.target_vocabulary);
  return read;
}

std::vector<std::string> foreign_rows(const nn::Parameter& parameter, const HuggingFaceArchitecture& architecture) {
  const std::string_view name = parameter.name;
  const TableTensors& tables = architecture.tables;
  if (name == "embedding.weight" || name == "source_embedding.weight") return {tables.encoder};
  if (name == "target_embedding.weight") return {tables.decoder};
  if (name == "output.weight") return {tables.output};
  if (name == "output.bias") return {kLogitsBias};
  for (const std::string_view stack : {"encoder", "decoder"}) {
    if (!name.starts_with(stack)) continue;
    const std::string_view rest = name.substr(stack.size() + 1);
    const std::string_view end = rest.substr(rest.rfind('.'));
    if (rest.starts_with("layers.")) return names_in_layer(stack, rest);
    if (rest.starts_with("positions.")) return {positions_name(stack, "weight")};
    if (rest.starts_with("norm.")) return {fmt::format("model.{}.layernorm_embedding{}", stack, end)};
    if (rest.starts_with("final_norm.")) return {fmt::format("model.{}.layer_norm{}", stack, end)};
  }
  core::fail(ErrorCode::kInternal, "no tensor is known for {}", name);
}

void leave_what_is_known(ForeignTensors& weights, const HuggingFaceArchitecture& architecture) {
  for (const char* table : {kShared, kEncoderTable, kDecoderTable, kHead}) weights.leave(table);
  if (!architecture.model.output_bias) weights.leave(kLogitsBias);
  // Tensors of fairseq without a meaning here.
  for (const char* name : {"model.encoder.version", "model.decoder.version"}) weights.leave(name);
  if (architecture.model.positions == nn::PositionKind::kLearned) return;
  for (const char* stack : {"encoder", "decoder"})
    for (const char* end : {"weight", "weights"}) {
      const std::string name = positions_name(stack, end);
      if (!weights.contains(name)) continue;
      compare_sinusoids(weights, name, architecture.model);
      weights.leave(name);
    }
}

}  // namespace dragoman::imports
