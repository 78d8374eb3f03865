#include "tokens/auto_tokenizer.h"

#include "weights/exported_shape.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::Json;
using tokenizer::FileKind;
using tokenizer::TokenizerSpec;

class TokenizerExport {
 public:
  TokenizerExport(const ExportedModel& exported, std::int64_t longest, const std::filesystem::path& folder)
      : exported_(exported), sequences_(exported.model->spec()), longest_(longest), folder_(folder) {}

  bool is_of(std::string_view kind) const {
    const auto& [joint, source, target] = exported_.tokenizers;
    return joint.empty() ? !source.empty() && source.kind() == kind && target.kind() == kind : joint.kind() == kind;
  }

  /// Writes a tokenizer.json that adds the end after a text. Dragoman's own file need not do so.
  void write_fast(const std::string& tokenizer_json) const {
    nlohmann::json json = nlohmann::json::parse(tokenizer_json);
    const std::string end = source_piece(sequences_.end);
    const auto sequence = [](const char* id, int type) {
      return nlohmann::json{{"Sequence", {{"id", id}, {"type_id", type}}}};
    };
    const nlohmann::json closing = {{"SpecialToken", {{"id", end}, {"type_id", 0}}}};
    json["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", {sequence("A", 0), closing}},
                              {"pair", {sequence("A", 0), sequence("B", 0), closing}},
                              {"special_tokens", {{end, {{"id", end}, {"ids", {sequences_.end}}, {"tokens", {end}}}}}}};
    core::write_file(folder_ / "tokenizer.json", json.dump() + "\n");
    write_config({{"tokenizer_class", "PreTrainedTokenizerFast"}, {"bos_token", source_piece(sequences_.begin)}});
  }

  void write_marian() const {
    core::write_file(folder_ / "source.spm", exported_.tokenizers.of_source().content);
    core::write_file(folder_ / "target.spm", exported_.tokenizers.of_target().content);
    write_ids("vocab.json", *exported_.source_tokenizer, sequences_.source_vocabulary);
    const bool separate = !exported_.tokenizers.is_joint() && !same_pieces();
    if (separate) write_ids("target_vocab.json", *exported_.target_tokenizer, sequences_.target_vocabulary);
    write_config({{"tokenizer_class", "MarianTokenizer"}, {"separate_vocabs", separate}});
  }

 private:
  std::string source_piece(std::int32_t id) const { return std::string(exported_.source_tokenizer->piece(id)); }

  bool same_pieces() const {
    return sequences_.source_vocabulary == sequences_.target_vocabulary &&
           pieces_of(*exported_.source_tokenizer, sequences_.source_vocabulary) ==
               pieces_of(*exported_.target_tokenizer, sequences_.target_vocabulary);
  }

  void write_ids(const char* name, const tokenizer::Tokenizer& tokenizer, std::int64_t count) const {
    std::string text = "{";
    for (std::int32_t id = 0; id < count; ++id)
      text += fmt::format("{}\n  {}: {}", id == 0 ? "" : ",", Json(std::string(tokenizer.piece(id))).dump(), id);
    core::write_file(folder_ / name, text + "\n}\n");
  }

  /// Texts that spell a special token stay text, and decoding does not clean up anything.
  void write_config(Json config) const {
    config["eos_token"] = source_piece(sequences_.end);
    config["unk_token"] = source_piece(sequences_.unknown);
    config["pad_token"] = target_piece(sequences_.decoder_start);
    config["model_max_length"] = longest_;
    config["model_input_names"] = {"input_ids", "attention_mask"};
    config["clean_up_tokenization_spaces"] = false;
    config["split_special_tokens"] = true;
    core::write_file(folder_ / "tokenizer_config.json", config.dump(2) + "\n");
  }
  std::string target_piece(std::int32_t id) const { return std::string(exported_.target_tokenizer->piece(id)); }

  const ExportedModel& exported_;
  const nn::SequenceSpec& sequences_;
  std::int64_t longest_;
  const std::filesystem::path& folder_;
};

/// Returns nullopt if a tokenizer.json cannot represent the model.
std::optional<std::string> sentencepiece_as_json(const TokenizerSpec& spec, const tokenizer::Tokenizer& opened) {
  const auto definition =
      tokenizer::parse_any_tokenizer_file("spiece.model", spec.content, {.kind = FileKind::kSentencePiece});
  const auto* unigram = std::get_if<tokenizer::UnigramDefinition>(&definition);
  if (unigram == nullptr || static_cast<std::int64_t>(unigram->pieces.size()) != opened.size()) return std::nullopt;
  try {
    return tokenizer::written_unigram(*unigram, FileKind::kTokenizerJson);
  } catch (const core::Error& error) {
    if (error.code() != core::ErrorCode::kUnsupported) throw;
    return std::nullopt;
  }
}

}  // namespace

void write_auto_tokenizer(const ExportedModel& exported, std::int64_t longest, const std::filesystem::path& folder) {
  const TokenizerExport write(exported, longest, folder);
  if (write.is_of(name_of(FileKind::kSentencePiece))) return write.write_marian();
  copy_tokenizers(exported, folder);
  if (write.is_of(TokenizerSpec::kNative)) write.write_fast(exported.tokenizers.of_source().content);
}

void write_t5_auto_tokenizer(const ExportedModel& exported, std::int64_t longest, const std::filesystem::path& folder) {
  const TokenizerExport write(exported, longest, folder);
  if (!write.is_of(name_of(FileKind::kSentencePiece))) return write_auto_tokenizer(exported, longest, folder);
  const TokenizerSpec& spec = exported.tokenizers.of_source();
  core::write_file(folder / "spiece.model", spec.content);
  if (const auto json = sentencepiece_as_json(spec, *exported.source_tokenizer))
    write.write_fast(*json);
  else
    write.write_marian();
}

}  // namespace dragoman::imports
