#include "model_part.h"

#include "base/piece_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
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

/// The pieces that the model lists, by their texts, which stay where they are.
class ListedPieces {
 public:
  ListedPieces(const TokenizerDocument& document, const std::string& where) : vocabulary_(document.vocabulary) {
    texts_.reserve(vocabulary_.size());
    for (const auto& [piece, id] : vocabulary_) texts_.push_back(piece);
    entries_ = PieceTable<std::string_view>(texts_);
    for (std::size_t i = 0; i < texts_.size(); ++i)
      require(entries_.add(static_cast<std::int32_t>(i)), ErrorCode::kBadInput, "{}: {} is listed twice", where,
              Quoted{texts_[i]});
  }
  ListedPieces(const ListedPieces&) = delete;
  ListedPieces& operator=(const ListedPieces&) = delete;

  /// The id of a piece, or -1.
  std::int32_t id_of(std::string_view piece) const {
    const std::int32_t entry = entries_.find(piece);
    return entry < 0 ? -1 : vocabulary_[static_cast<std::size_t>(entry)].second;
  }

 private:
  const std::vector<std::pair<std::string_view, std::int32_t>>& vocabulary_;
  std::vector<std::string_view> texts_;  // in the order of the file
  PieceTable<std::string_view> entries_{texts_};
};

struct AddedPiece {
  AddedToken token;
  std::string text;
};

ModelPart read_model_options(const JsonPart& model) {
  require(model.type() != "Unigram", ErrorCode::kUnsupported,
          "{}: the model type 'Unigram' is not supported in a tokenizer.json; use the SentencePiece .model that it was "
          "made from",
          model.where());
  if (model.type() != "BPE") unsupported(model.where(), fmt::format("the model type {}", Quoted{model.type()}));
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

std::vector<AddedPiece> read_added_tokens(const JsonPart& top, const ListedPieces& listed) {
  std::vector<AddedPiece> added;
  if (top.is_null("added_tokens")) return added;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < top.array("added_tokens").size(); ++i) {
    const JsonPart token = element(top, "added_tokens", i);
    token.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    for (const char* key : {"single_word", "lstrip", "rstrip"})
      if (token.flag(key)) unsupported(token.where(), key);
    const std::int32_t id = token.number("id");
    const std::string content = token.text("content");
    const std::int32_t listed_id = listed.id_of(content);
    const bool in_vocabulary = listed_id >= 0;
    require(!in_vocabulary || listed_id == id, ErrorCode::kBadInput, "{}: {} has another id in the vocabulary",
            token.where(), Quoted{content});
    require(seen.insert(content).second, ErrorCode::kBadInput, "{}: {} is listed twice", token.where(),
            Quoted{content});
    added.push_back({{id, token.flag("special"), in_vocabulary}, content});
  }
  return added;
}

void place_piece(std::vector<std::string>& pieces, std::int32_t id, std::string_view piece, const std::string& where) {
  require(static_cast<std::size_t>(id) < pieces.size(), ErrorCode::kBadInput,
          "{}: the piece {} has the id {}, but there are {} pieces; ids must run from 0 without a gap", where,
          Quoted{piece}, id, pieces.size());
  std::string& place = pieces[static_cast<std::size_t>(id)];
  require(!piece.empty(), ErrorCode::kBadInput, "{}: the piece with the id {} is empty", where, id);
  require(place.empty(), ErrorCode::kBadInput, "{}: the pieces {} and {} share the id {}", where, Quoted{place},
          Quoted{piece}, id);
  place = piece;
}

/// Pieces come from the model's vocabulary and, beyond it, from the added tokens; together their ids have no gap.
std::vector<std::string> pieces_by_id(const TokenizerDocument& document, const std::vector<AddedPiece>& added,
                                      const std::string& where) {
  const auto is_beyond = [](const AddedPiece& piece) { return !piece.token.in_vocabulary; };
  const auto beyond = static_cast<std::size_t>(std::ranges::count_if(added, is_beyond));
  std::vector<std::string> pieces(document.vocabulary.size() + beyond);
  for (const auto& [piece, id] : document.vocabulary) place_piece(pieces, id, piece, where);
  for (const AddedPiece& piece : added)
    if (is_beyond(piece)) place_piece(pieces, piece.token.id, piece.text, where);
  return pieces;
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
  const std::vector<AddedPiece> added = read_added_tokens(top, listed);
  for (const AddedPiece& piece : added) result.definition.added_tokens.push_back(piece.token);
  result.definition.pieces = pieces_by_id(document, added, top.where());
  result.definition.merges = read_merges(model, document, listed);
  result.definition.unknown = read_unknown(model, listed);
  return result;
}

}  // namespace dragoman::tokenizer
