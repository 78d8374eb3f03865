#include "model_part.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

ModelPart read_model_options(const JsonPart& model) {
  require(model_type(model) == "BPE", ErrorCode::kUnsupported,
          "{}: a model of the type {} has no merges; it encodes and decodes, but cannot be converted or changed; to "
          "train with it as it is, name its kind (data.tokenizer: {{file: FILE, type: tokenizer-json}})",
          model.where(), Quoted{model_type(model)});
  model.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
               "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (!model.is_null("continuing_subword_prefix") && !model.text("continuing_subword_prefix").empty())
    core::fail(ErrorCode::kUnsupported,
               "{}: continuing_subword_prefix is not supported in a model of merges; learn the vocabulary without it",
               model.where());
  ModelPart result;
  if (!model.is_null("end_of_word_suffix")) result.suffix = model.text("end_of_word_suffix");
  result.definition.fuse_unknown = model.flag("fuse_unk");
  result.byte_fallback = model.flag("byte_fallback");
  result.definition.ignore_merges = model.flag("ignore_merges");
  return result;
}

/// Removes repeated merges of a pair. The last one counts, as in the library.
std::vector<Merge> without_repeated(std::vector<Merge> merges) {
  core::IntegerSet<std::uint64_t> seen;
  seen.reserve(merges.size());
  const auto is_repeated = [&](const Merge& merge) {
    return !seen.insert(std::uint64_t{static_cast<std::uint32_t>(merge.left)} << 32 |
                        static_cast<std::uint32_t>(merge.right))
                .second;
  };
  std::ranges::reverse(merges);
  std::erase_if(merges, is_repeated);
  std::ranges::reverse(merges);
  return merges;
}

/// Byte fallback has no effect without any piece for a byte.
bool has_byte_pieces(const ListedPieces& listed) {
  for (int byte = 0; byte < 256; ++byte)
    if (listed.id_of(piece_of_byte(static_cast<unsigned char>(byte))) >= 0) return true;
  return false;
}

std::vector<Merge> read_merges(const JsonPart& model, const TokenizerDocument& document, const ListedPieces& listed) {
  model.array("merges");  // throws if it is not a list
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
  core::StopCheck check("opening a tokenizer");
  for (const auto& [left, right] : document.merges) {
    check(200);
    if (left.starts_with("#version")) continue;  // from the files from which the list was built
    joined.assign(left).append(right);
    merges.push_back({id_of(left), id_of(right), id_of(joined)});
  }
  return without_repeated(std::move(merges));
}

std::optional<std::int32_t> read_unknown(const JsonPart& model, const ListedPieces& listed) {
  if (model.is_null("unk_token")) return std::nullopt;
  const std::int32_t id = listed.id_of(model.text("unk_token"));
  require(id >= 0, ErrorCode::kBadInput, "{}: {} is not in the vocabulary", model.at("unk_token"),
          Quoted{model.text("unk_token")});
  return id;
}

}  // namespace

std::string model_type(const JsonPart& model) {
  return model.is_null("type") && model.get("merges").is_array() ? "BPE" : model.type();
}

ModelPart read_model(const JsonPart& top, const TokenizerDocument& document) {
  const JsonPart model = child(top, "model");
  ModelPart result = read_model_options(model);
  require(model.get("vocab").is_object(), ErrorCode::kBadInput, "{}: expected an object, not {}", model.at("vocab"),
          model.get("vocab").type_name());
  const ListedPieces listed(document, model.at("vocab"));
  result.byte_fallback = result.byte_fallback && has_byte_pieces(listed);
  result.added = read_added_tokens(top, listed);
  for (const AddedPiece& piece : result.added)
    result.definition.added_tokens.push_back({piece.token.id, piece.token.special, piece.in_vocabulary});
  result.definition.pieces = pieces_by_id(document.vocabulary, result.added, top.where());
  result.definition.merges = read_merges(model, document, listed);
  result.definition.unknown = read_unknown(model, listed);
  return result;
}

}  // namespace dragoman::tokenizer
