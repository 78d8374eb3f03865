#include "weights/exported_shape.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/nn/positions.h>
#include <dragoman/nn/zero_start.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;

/// The threshold for kNeverWritten and for similar values of other writers.
constexpr float kHardlyWritten = -1000;

/// Returns whether the decoder's start token is the last piece and never generated. The import of a model without such
/// a token adds it in this way.
bool has_added_start(const ExportedModel& exported, const transformer::Config& config) {
  const nn::SequenceSpec& sequences = exported.model->spec();
  if (!config.output_bias || sequences.decoder_start != sequences.target_vocabulary - 1) return false;
  if (sequences.decoder_start == sequences.begin && sequences.begin == sequences.end) return false;
  const tensor::Tensor& bias = value_of(exported, "output.bias");
  return bias.as<float>()[bias.size() - 1] <= kHardlyWritten;
}

void copy_tokenizer(formats::TokenizerSide side, const tokenizer::TokenizerSpec& spec,
                    const std::filesystem::path& folder) {
  const std::string sentencepiece = tokenizer::name_of(tokenizer::FileKind::kSentencePiece).data();
  if (spec.empty() || (!spec.is_native() && spec.kind() != sentencepiece)) return;
  const char* prefix = side == formats::TokenizerSide::kSource   ? "source"
                       : side == formats::TokenizerSide::kTarget ? "target"
                                                                 : "sentencepiece";
  const std::string copy = spec.is_native()                         ? formats::tokenizer_file_name(side, spec)
                           : side == formats::TokenizerSide::kJoint ? std::string(prefix) + ".model"
                                                                    : std::string(prefix) + ".spm";
  core::write_file(folder / copy, spec.content);
}

}  // namespace

const tensor::Tensor& value_of(const ExportedModel& exported, const std::string& parameter) {
  const nn::Parameter* found = exported.model->parameters().find(parameter);
  core::require(found != nullptr, ErrorCode::kInternal, "{}: has no parameter {}", exported.path.string(), parameter);
  core::require(found->value.dtype == tensor::DType::kF32 && found->value.contiguous(), ErrorCode::kInternal,
                "{}: {} is not of contiguous F32", exported.path.string(), parameter);
  return found->value;
}

TransformerShape exported_shape(const ExportedModel& exported, bool may_recur) {
  const std::string& type = exported.config->model_type;
  const bool recurrent = type == "ssru";
  core::require(type == "transformer" || (recurrent && may_recur), ErrorCode::kUnsupported,
                "{}: is of the type {}, for which the other toolkit has nothing", exported.path.string(), type);
  TransformerShape shape{.config = transformer::read_config(exported.model->config(), exported.path.string()),
                         .sequences = exported.model->spec(),
                         .recurrent = recurrent};
  shape.zero_start = nn::starts_from_zeros(*exported.model);
  shape.adds_start = shape.zero_start && has_added_start(exported, shape.config);
  return shape;
}

std::vector<float> position_table(const transformer::Config& config, std::int64_t count) {
  const std::vector<double> rows =
      nn::sinusoidal_positions(config.positions, config.position_offset + count, config.d_model, config.position_base);
  std::vector<float> table(static_cast<std::size_t>(count * config.d_model));
  std::transform(rows.begin() + config.position_offset * config.d_model, rows.end(), table.begin(),
                 [](double value) { return static_cast<float>(value); });
  return table;
}

std::vector<std::string> pieces_of(const tokenizer::Tokenizer& tokenizer, std::int64_t count) {
  std::vector<std::string> pieces;
  for (std::int32_t id = 0; id < count; ++id) pieces.emplace_back(tokenizer.piece(id));
  return pieces;
}

void refuse_export(const ExportedModel& exported, std::string_view format, std::string_view reason) {
  core::fail(ErrorCode::kUnsupported, "{}: cannot be exported as {}: {}", exported.path.string(), format, reason);
}

void require_proportionate_export(const ExportedModel& exported, std::string_view format, const WeightPlan& plan) {
  std::uint64_t stored = 0;
  for (const nn::Parameter& parameter : exported.model->parameters().all())
    stored += static_cast<std::uint64_t>(parameter.rows * parameter.cols) * sizeof(float);
  std::uint64_t written = 0;
  for (const PlannedWeight& planned : plan)
    written += static_cast<std::uint64_t>(planned.rows * planned.cols) * sizeof(float);
  if (const std::uint64_t most = most_unfolded_bytes(stored); written > most)
    refuse_export(exported, format,
                  fmt::format("its {} bytes of weights would become {} bytes there, since the format stores tied "
                              "layers separately; at most {} are written. Export it as ctranslate2, which stores them "
                              "once",
                              stored, written, most));
}

void copy_tokenizers(const ExportedModel& exported, const std::filesystem::path& folder) {
  using formats::TokenizerSide;
  copy_tokenizer(TokenizerSide::kJoint, exported.tokenizers.joint, folder);
  copy_tokenizer(TokenizerSide::kSource, exported.tokenizers.source, folder);
  copy_tokenizer(TokenizerSide::kTarget, exported.tokenizers.target, folder);
}

}  // namespace dragoman::imports
