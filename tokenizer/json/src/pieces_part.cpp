#include "pieces_part.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

/// Scored pieces are numbered by their places.
PiecesWithIds numbered(const TokenizerDocument& document) {
  PiecesWithIds pieces;
  pieces.reserve(document.scored.size());
  for (const auto& [piece, score] : document.scored)
    pieces.emplace_back(piece, static_cast<std::int32_t>(pieces.size()));
  return pieces;
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

}  // namespace

ListedPieces::ListedPieces(const TokenizerDocument& document, const std::string& where)
    : numbered_(numbered(document)), vocabulary_(document.scored.empty() ? document.vocabulary : numbered_) {
  texts_.reserve(vocabulary_.size());
  for (const auto& [piece, id] : vocabulary_) texts_.push_back(piece);
  entries_ = PieceTable<std::string_view>(texts_);
  for (std::size_t i = 0; i < texts_.size(); ++i)
    require(entries_.add(static_cast<std::int32_t>(i)), ErrorCode::kBadInput, "{}: {} is listed twice", where,
            Quoted{texts_[i]});
}

std::int32_t ListedPieces::id_of(std::string_view piece) const {
  const std::int32_t entry = entries_.find(piece);
  return entry < 0 ? -1 : vocabulary_[static_cast<std::size_t>(entry)].second;
}

std::vector<AddedPiece> read_added_tokens(const JsonPart& top, const ListedPieces& listed) {
  std::vector<AddedPiece> added;
  if (top.is_null("added_tokens")) return added;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < top.array("added_tokens").size(); ++i) {
    const JsonPart token = element(top, "added_tokens", i);
    token.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const std::int32_t id = token.number("id");
    const std::string content = token.text("content");
    const std::int32_t listed_id = listed.id_of(content);
    const bool in_vocabulary = listed_id >= 0;
    require(!in_vocabulary || listed_id == id, ErrorCode::kBadInput, "{}: {} has another id in the vocabulary",
            token.where(), Quoted{content});
    require(seen.insert(content).second, ErrorCode::kBadInput, "{}: {} is listed twice", token.where(),
            Quoted{content});
    added.push_back({.token = {.id = id,
                               .text = content,
                               .single_word = token.flag("single_word"),
                               .lstrip = token.flag("lstrip"),
                               .rstrip = token.flag("rstrip"),
                               .normalized = token.flag("normalized"),
                               .special = token.flag("special")},
                     .in_vocabulary = in_vocabulary});
  }
  return added;
}

std::vector<std::string> pieces_by_id(const PiecesWithIds& vocabulary, const std::vector<AddedPiece>& added,
                                      const std::string& where) {
  const auto beyond = static_cast<std::size_t>(std::ranges::count(added, false, &AddedPiece::in_vocabulary));
  std::vector<std::string> pieces(vocabulary.size() + beyond);
  for (const auto& [piece, id] : vocabulary) place_piece(pieces, id, piece, where);
  for (const AddedPiece& piece : added)
    if (!piece.in_vocabulary) place_piece(pieces, piece.token.id, piece.token.text, where);
  return pieces;
}

}  // namespace dragoman::tokenizer
