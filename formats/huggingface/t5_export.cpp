#include "huggingface/t5_export.h"

#include "huggingface/t5.h"
#include "tokens/auto_tokenizer.h"
#include "weights/exported_shape.h"

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

constexpr std::string_view kT5Format = "huggingface";

/// Returns the value of feed_forward_proj.
std::string t5_activation_name(const ExportedModel& exported, nn::FeedForwardActivation activation) {
  // In transformers, gated-gelu is the gated form of the approximation, and gelu is the exact function.
  if (activation.activation == ops::Activation::kGeluTanh) return activation.gated ? "gated-gelu" : "gelu_new";
  const std::string prefix = activation.gated ? "gated-" : "";
  switch (activation.activation) {
    case ops::Activation::kRelu:
      return prefix + "relu";
    case ops::Activation::kGelu:
      return prefix + "gelu";
    case ops::Activation::kSwish:
      return prefix + "silu";
    default:
      refuse_export(exported, kT5Format, "its activation has no name there");
  }
}

core::Json t5_config(const ExportedModel& exported, const t5::Config& config) {
  const nn::SequenceSpec& sequences = exported.model->spec();
  const bool each = config.relative_bias_of_each_layer;
  core::Json json = {{"architectures", {each ? "UMT5ForConditionalGeneration" : "T5ForConditionalGeneration"}},
                     {"model_type", each ? "umt5" : "t5"},
                     {"d_model", config.d_model},
                     {"d_kv", config.head_width},
                     {"d_ff", config.feed_forward},
                     {"num_layers", config.encoder_layers},
                     {"num_decoder_layers", config.decoder_layers},
                     {"num_heads", config.heads},
                     {"relative_attention_num_buckets", config.relative_buckets},
                     {"relative_attention_max_distance", config.relative_distance},
                     {"dropout_rate", config.dropout},
                     {"layer_norm_epsilon", config.layer_norm_epsilon},
                     {"feed_forward_proj", t5_activation_name(exported, config.activation)},
                     {"tie_word_embeddings", config.tied_output},
                     {"is_encoder_decoder", true},
                     {"vocab_size", sequences.target_vocabulary},
                     {"n_positions", sequences.maximum_source_length},
                     {"eos_token_id", sequences.end},
                     {"pad_token_id", sequences.decoder_start},
                     {"decoder_start_token_id", sequences.decoder_start},
                     {"torch_dtype", "float32"}};
  // Version 5 detects tying from the weights, and reads the scale from these keys.
  if (config.scaled_output != config.tied_output) {
    json["tie_word_embeddings"] = true;
    json["scale_decoder_outputs"] = config.scaled_output;
  }
  return json;
}

core::Json t5_generation(const ExportedModel& exported) {
  const nn::SequenceSpec& sequences = exported.model->spec();
  const core::Json& decoding = exported.config->decoding;
  return {{"eos_token_id", sequences.end},
          {"pad_token_id", sequences.decoder_start},
          {"decoder_start_token_id", sequences.decoder_start},
          {"max_length", sequences.maximum_target_length},
          {"num_beams", decoding.contains("beam_size") ? decoding["beam_size"] : core::Json(4)}};
}

/// Rows of a parameter that are one tensor in transformers.
struct ExportedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  tensor::Tensor rows;
};

std::vector<ExportedTensor> tensors_of(const nn::Parameter& parameter, const t5::Config& config) {
  const std::vector<std::string> names = t5_tensors(parameter.name, config);
  std::vector<std::int64_t> shape = formats::stored_shape(parameter);
  const auto parts = static_cast<std::int64_t>(names.size());
  shape.front() /= parts;
  std::vector<ExportedTensor> tensors;
  for (std::int64_t part = 0; part < parts; ++part)
    tensors.push_back(
        {names[static_cast<std::size_t>(part)], shape,
         parts == 1 ? parameter.value : parameter.value.row_range(part * shape.front(), (part + 1) * shape.front())});
  return tensors;
}

void write_t5_weights(const ExportedModel& exported, const t5::Config& config, const std::filesystem::path& file) {
  std::vector<ExportedTensor> tensors;
  for (const nn::Parameter& parameter : exported.model->parameters().all())
    for (ExportedTensor& tensor : tensors_of(parameter, config)) tensors.push_back(std::move(tensor));
  std::vector<formats::TensorSpec> specs;
  for (const ExportedTensor& tensor : tensors) specs.push_back({.name = tensor.name, .shape = tensor.shape});
  formats::SafetensorsWriter writer(file, specs, {{"format", "pt"}});
  for (const ExportedTensor& tensor : tensors) writer.write(tensor.rows);
  writer.finish();
}

}  // namespace

void write_t5(const ExportedModel& exported, const std::filesystem::path& folder) {
  // The import may have added a prefix to every source. A transformers folder cannot store its ids.
  if (!exported.config->languages.always.empty())
    refuse_export(exported, kT5Format, "it has tokens around every sentence");
  const t5::Config config = t5::read_config(exported.model->config(), "model");
  core::write_file(folder / "config.json", t5_config(exported, config).dump(2) + "\n");
  core::write_file(folder / "generation_config.json", t5_generation(exported).dump(2) + "\n");
  write_t5_weights(exported, config, folder / "model.safetensors");
  write_t5_auto_tokenizer(exported, exported.model->spec().maximum_source_length, folder);
}

}  // namespace dragoman::imports
