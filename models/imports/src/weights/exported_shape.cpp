#include "weights/exported_shape.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/nn/positions.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;

/// As kNeverWritten, or what others put there.
constexpr float kHardlyWritten = -1000;

/// Whether the decoder's start token is a row of zeros at the end that is never written: what an import of a model that
/// starts from zeros makes of it.
bool starts_from_zeros(const ExportedModel& exported, const transformer::Config& config) {
  const nn::SequenceSpec& sequences = exported.model->spec();
  if (!config.output_bias || sequences.decoder_start != sequences.target_vocabulary - 1) return false;
  if (sequences.decoder_start == sequences.begin && sequences.begin == sequences.end) return false;
  const tensor::Tensor& bias = value_of(exported, "output.bias");
  if (bias.as<float>()[bias.size() - 1] > kHardlyWritten) return false;
  const nn::Parameter* table = exported.model->embedding_tables().target;
  const float* row = table->value.as<float>() + (table->value.rows - 1) * table->value.cols;
  return std::all_of(row, row + table->value.cols, [](float value) { return value == 0; });
}

void copy_tokenizer(const ExportedModel& exported, formats::TokenizerSide side, const formats::StoredTokenizer& stored,
                    const std::filesystem::path& folder) {
  const std::string name = formats::tokenizer_file_name(side, stored);
  const std::string sentencepiece = tokenizer::name_of(tokenizer::FileKind::kSentencePiece).data();
  if (!stored.is_native() && stored.kind.type != sentencepiece) return;
  const char* prefix = side == formats::TokenizerSide::kSource   ? "source"
                       : side == formats::TokenizerSide::kTarget ? "target"
                                                                 : "sentencepiece";
  const std::string copy = stored.is_native()                       ? name
                           : side == formats::TokenizerSide::kJoint ? std::string(prefix) + ".model"
                                                                    : std::string(prefix) + ".spm";
  core::write_file(folder / copy, core::read_regular_file(exported.folder / name, tokenizer::TokenizerFile::kLargest));
}

}  // namespace

const tensor::Tensor& value_of(const ExportedModel& exported, const std::string& parameter) {
  const nn::Parameter* found = exported.model->parameters().find(parameter);
  core::require(found != nullptr, ErrorCode::kInternal, "{}: has no parameter {}", exported.folder.string(), parameter);
  core::require(found->value.dtype == tensor::DType::kF32 && found->value.contiguous(), ErrorCode::kInternal,
                "{}: {} is not of contiguous F32", exported.folder.string(), parameter);
  return found->value;
}

TransformerShape exported_shape(const ExportedModel& exported, bool may_recur) {
  const std::string& type = exported.config->model_type;
  const bool recurrent = type == "ssru";
  core::require(type == "transformer" || (recurrent && may_recur), ErrorCode::kUnsupported,
                "{}: is of the type {}, for which the other toolkit has nothing", exported.folder.string(), type);
  TransformerShape shape{.config = transformer::read_config(exported.model->config(), exported.folder.string()),
                         .sequences = exported.model->spec(),
                         .recurrent = recurrent};
  shape.zero_start = starts_from_zeros(exported, shape.config);
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
  core::fail(ErrorCode::kUnsupported, "{}: cannot be exported as {}: {}", exported.folder.string(), format, reason);
}

void copy_tokenizers(const ExportedModel& exported, const std::filesystem::path& folder) {
  using formats::TokenizerSide;
  formats::StoredTokenizers native;
  native.joint = exported.source_tokenizer == exported.target_tokenizer;
  const formats::StoredTokenizers stored = exported.config->tokenizers.value_or(native);
  if (stored.joint) return copy_tokenizer(exported, TokenizerSide::kJoint, stored.source, folder);
  copy_tokenizer(exported, TokenizerSide::kSource, stored.source, folder);
  copy_tokenizer(exported, TokenizerSide::kTarget, stored.target, folder);
}

}  // namespace dragoman::imports
