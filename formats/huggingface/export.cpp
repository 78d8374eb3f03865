#include "huggingface/export.h"

#include "huggingface/t5_export.h"
#include "tokens/auto_tokenizer.h"
#include "weights/bart_names.h"
#include "weights/exported_shape.h"

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using transformer::Config;
using transformer::NormPlace;
using transformer::Tying;

constexpr std::string_view kHuggingFaceFormat = "huggingface";

class TransformersExport {
 public:
  explicit TransformersExport(const ExportedModel& exported) : exported_(exported) {
    shape_ = exported_shape(exported, false);
    const Config& config = shape_.config;
    // In transformers, the start token has an ordinary row.
    shape_.adds_start = false;
    shape_.untied_layers = true;
    pegasus_ = config.norm == NormPlace::kPre;
    require(config.final_norm == pegasus_,
            "norms stand behind sub-layers and behind the stacks, or in front of sub-layers alone");
    require(!config.embedding_norm, "it has norms on embeddings");
    require(!config.activation.gated, "its feed-forward layers are gated");
    require(std::abs(config.layer_norm_epsilon - 1e-5) < 1e-9,
            fmt::format("its layer_norm_epsilon is {}, and 1e-5 there", config.layer_norm_epsilon));
    require(config.output_width == 0, "it has a projection in front of the output matrix");
    require(!pegasus_ || config.tying == Tying::kAll,
            "its norms stand in front of sub-layers, and its tables are not all one (tying)");
    require(config.tying == Tying::kAll || config.tying == Tying::kTargetOutput,
            "its output matrix is not the target's table (tying)");
    require(exported.config->languages.always.empty(), "it has tokens around every sentence");
  }

  void write(const std::filesystem::path& folder) const {
    write_weights(folder / "model.safetensors");
    write_json(folder / "config.json", config());
    write_json(folder / "generation_config.json", generation());
    write_auto_tokenizer(exported_, positions(), folder);
  }

 private:
  void require(bool holds, std::string_view reason) const {
    if (!holds) refuse_export(exported_, kHuggingFaceFormat, reason);
  }
  static void write_json(const std::filesystem::path& file, const core::Json& json) {
    core::write_file(file, json.dump(2) + "\n");
  }

  std::int64_t longest(Side side) const {
    return side == Side::kEncoder ? shape_.sequences.maximum_source_length : shape_.sequences.maximum_target_length;
  }
  /// Returns the number of positions. Both stacks have the same number in that format.
  std::int64_t positions() const { return std::min(longest(Side::kEncoder), longest(Side::kDecoder)); }

  std::vector<float> positions_of(Side side) const {
    const Config& config = shape_.config;
    if (config.positions != nn::PositionKind::kLearned) return position_table(config, positions());
    const tensor::Tensor& value = value_of(exported_, fmt::format("{}.positions.weight", name_of(side)));
    const float* first = value.as<float>() + config.position_offset * config.d_model;
    return {first, first + positions() * config.d_model};
  }

  void write_weights(const std::filesystem::path& file) const {
    const BartNames names({.shared = shape_.config.tying == Tying::kAll ? "model.shared.weight" : ""});
    const WeightPlan plan = plan_transformer(shape_, names);
    require_proportionate_export(exported_, kHuggingFaceFormat, plan);
    const std::int64_t width = shape_.config.d_model;
    std::vector<formats::TensorSpec> specs;
    for (const PlannedWeight& planned : plan)
      if (!planned.parameter.ends_with("positions.weight"))
        for (const WeightPart& part : planned.parts)
          specs.push_back({.name = part.name,
                           .shape = !planned.is_vector ? std::vector<std::int64_t>{planned.share(), planned.cols}
                                    : part.name == names.output_bias().name
                                        ? std::vector<std::int64_t>{1, planned.share()}
                                        : std::vector<std::int64_t>{planned.share()}});
    for (const Side side : {Side::kEncoder, Side::kDecoder})
      specs.push_back({.name = names.positions(side).name, .shape = {positions(), width}});
    formats::SafetensorsWriter writer(file, specs, {{"format", "pt"}});
    const auto put = [&](std::vector<float>& values) {
      const auto count = static_cast<std::int64_t>(values.size());
      writer.write({values.data(), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu});
    };
    std::vector<float> values;
    for (const PlannedWeight& planned : plan) {
      if (planned.parameter.ends_with("positions.weight")) continue;
      for (std::size_t part = 0; part < planned.parts.size(); ++part) {
        extract_part(planned, part, value_of(exported_, planned.parameter), values);
        put(values);
      }
    }
    for (const Side side : {Side::kEncoder, Side::kDecoder}) {
      values = positions_of(side);
      put(values);
    }
    writer.finish();
  }

  const char* activation() const {
    switch (shape_.config.activation.activation) {
      case ops::Activation::kRelu:
        return "relu";
      case ops::Activation::kGelu:
        return "gelu";
      case ops::Activation::kSwish:
        return "swish";
      case ops::Activation::kTanh:
        return "tanh";
      default:
        refuse_export(exported_, kHuggingFaceFormat, "its activation has no name there");
    }
  }

  core::Json config() const {
    const Config& config = shape_.config;
    const nn::SequenceSpec& sequences = shape_.sequences;
    core::Json json = {{"architectures", {pegasus_ ? "PegasusForConditionalGeneration" : "MarianMTModel"}},
                       {"model_type", pegasus_ ? "pegasus" : "marian"},
                       {"activation_function", activation()},
                       {"d_model", config.d_model},
                       {"encoder_layers", config.encoder_layers},
                       {"decoder_layers", config.decoder_layers},
                       {"encoder_attention_heads", config.heads},
                       {"decoder_attention_heads", config.heads},
                       {"encoder_ffn_dim", config.feed_forward},
                       {"decoder_ffn_dim", config.feed_forward},
                       {"dropout", config.dropout.sub_layer},
                       {"attention_dropout", config.dropout.attention},
                       {"activation_dropout", config.dropout.activation},
                       {"max_position_embeddings", positions()},
                       {"scale_embedding", config.embedding_scale},
                       {"static_position_embeddings", config.positions != nn::PositionKind::kLearned},
                       {"is_encoder_decoder", true},
                       {"tie_word_embeddings", true},
                       {"vocab_size", sequences.source_vocabulary},
                       {"bos_token_id", sequences.begin},
                       {"eos_token_id", sequences.end},
                       {"pad_token_id", sequences.decoder_start},
                       {"decoder_start_token_id", sequences.decoder_start},
                       {"forced_eos_token_id", nullptr},
                       {"torch_dtype", "float32"}};
    if (pegasus_) return json;
    json["share_encoder_decoder_embeddings"] = config.tying == Tying::kAll;
    json["decoder_vocab_size"] = sequences.target_vocabulary;
    return json;
  }

  core::Json generation() const {
    const nn::SequenceSpec& sequences = shape_.sequences;
    const core::Json& decoding = exported_.config->decoding;
    return {{"bos_token_id", sequences.begin},
            {"eos_token_id", sequences.end},
            {"pad_token_id", sequences.decoder_start},
            {"decoder_start_token_id", sequences.decoder_start},
            {"max_length", positions()},
            {"num_beams", decoding.contains("beam_size") ? decoding["beam_size"] : core::Json(4)}};
  }

  const ExportedModel& exported_;
  TransformerShape shape_;
  bool pegasus_ = false;
};

}  // namespace

void write_huggingface(const ExportedModel& exported, const std::filesystem::path& output) {
  if (exported.config->model_type == "t5") return write_t5(exported, output);
  TransformersExport(exported).write(output);
}

}  // namespace dragoman::imports
