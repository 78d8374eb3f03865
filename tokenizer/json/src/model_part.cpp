#include "model_part.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

ModelPart read_model_options(const JsonPart& model) {
  require(model.type() == "BPE", ErrorCode::kUnsupported,
          "{}: a model of the type {} has no merges; it encodes and decodes, but cannot be converted or changed",
          model.where(), Quoted{model.type()});
  model.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
               "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (!model.is_null("dropout") && model.get("dropout") != 0) unsupported(model.where(), "a stored dropout");
  if (!model.is_null("continuing_subword_prefix") && !model.text("continuing_subword_prefix").empty())
    unsupported(model.where(), "continuing_subword_prefix");
  ModelPart result;
  if (!model.is_null("end_of_word_suffix")) result.suffix = model.text("end_of_word_suffix");
  result.definition.fuse_unknown = model.flag("fuse_unk");
  result.byte_fallback = model.flag("byte_fallback");
  result.definition.ignore_merges = model.flag("ignore_merges");
  return result;
}

std::vector<Merge> read_merges(const JsonPart& model, const TokenizerDocument& document, const ListedPieces& listed) {
  model.array("merges");  // complains if it is none
  std::vector<Merge> merges;
  merges.reserve(document.merges.size());
  const auto id_of = [&](std::string_view piece) {
    const std::int32_t id = listed.id_of(piece);
    if (id < 0)
      core::fail(ErrorCode::kBadInput, "{}[{}]: {} is not in the vocabulary", model.at("merges"), merges.size(),
                 Quoted{piece});
    return id;
  };
  std::string joined;
  for (const auto& [left, right] : document.merges) {
    joined.assign(left).append(right);
    merges.push_back({id_of(left), id_of(right), id_of(joined)});
  }
  return merges;
}

std::optional<std::int32_t> read_unknown(const JsonPart& model, const ListedPieces& listed) {
  if (model.is_null("unk_token")) return std::nullopt;
  const std::int32_t id = listed.id_of(model.text("unk_token"));
  require(id >= 0, ErrorCode::kBadInput, "{}: {} is not in the vocabulary", model.at("unk_token"),
          Quoted{model.text("unk_token")});
  return id;
}

}  // namespace

ModelPart read_model(const JsonPart& top, const TokenizerDocument& document) {
  const JsonPart model = child(top, "model");
  ModelPart result = read_model_options(model);
  require(model.get("vocab").is_object(), ErrorCode::kBadInput, "{}: expected an object, not {}", model.at("vocab"),
          model.get("vocab").type_name());
  const ListedPieces listed(document, model.at("vocab"));
  result.added = read_added_tokens(top, listed);
  for (const AddedPiece& piece : result.added)
    result.definition.added_tokens.push_back({piece.token.id, piece.token.special, piece.in_vocabulary});
  result.definition.pieces = pieces_by_id(document.vocabulary, result.added, top.where());
  result.definition.merges = read_merges(model, document, listed);
  result.definition.unknown = read_unknown(model, listed);
  return result;
}

}  // namespace dragoman::tokenizer
