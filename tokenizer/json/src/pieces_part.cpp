#include "pieces_part.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

/// Numbers scored pieces by their positions.
PiecesWithIds numbered(const TokenizerDocument& document) {
  PiecesWithIds pieces;
  pieces.reserve(document.scored.size());
  core::StopCheck check("opening a tokenizer");
  for (const auto& [piece, score] : document.scored) {
    check(20);
    pieces.emplace_back(piece, static_cast<std::int32_t>(pieces.size()));
  }
  return pieces;
}

/// The maximum number of ids without a piece in a file.
constexpr std::size_t kMaxGaps = 65536;

void place_piece(std::vector<std::string>& pieces, std::int32_t id, std::string_view piece, std::size_t count,
                 const std::string& where) {
  require(static_cast<std::size_t>(id) < pieces.size(), ErrorCode::kBadInput,
          "{}: the piece {} has the id {}, but there are only {} pieces", where, Quoted{piece}, id, count);
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
  core::StopCheck check("opening a tokenizer");
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    check(200);
    require(entries_.add(static_cast<std::int32_t>(i)), ErrorCode::kBadInput, "{}: {} is listed twice", where,
            Quoted{texts_[i]});
  }
}

std::int32_t ListedPieces::id_of(std::string_view piece) const {
  const std::int32_t entry = entries_.find(piece);
  return entry < 0 ? -1 : vocabulary_[static_cast<std::size_t>(entry)].second;
}

std::vector<AddedPiece> read_added_tokens(const JsonPart& top, const ListedPieces& listed) {
  std::vector<AddedPiece> added;
  if (top.is_null("added_tokens")) return added;
  std::set<std::string> seen;
  std::vector<std::int32_t> listed_ids;
  for (const auto& [piece, id] : listed.all()) listed_ids.push_back(id);
  core::check_stop("opening a tokenizer");
  std::ranges::sort(listed_ids);
  auto next = static_cast<std::int32_t>(listed.all().size());
  for (std::size_t i = 0; i < top.array("added_tokens").size(); ++i) {
    const JsonPart token = element(top, "added_tokens", i);
    token.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const std::int32_t stored_id = token.number("id");
    const std::string content = token.text("content");
    if (content.empty() || !seen.insert(content).second) continue;
    const std::int32_t listed_id = listed.id_of(content);
    const bool in_vocabulary = listed_id >= 0;
    require(!in_vocabulary || listed_id == stored_id, ErrorCode::kBadInput, "{}: {} has another id in the vocabulary",
            token.where(), Quoted{content});
    const std::int32_t id = in_vocabulary ? listed_id : next++;
    require(in_vocabulary || !std::ranges::binary_search(listed_ids, id), ErrorCode::kUnsupported,
            "{}: the library tokenizers gives {} the id {}, which a piece of the vocabulary has already; number the "
            "vocabulary without a gap",
            token.where(), Quoted{content}, id);
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
  std::size_t count = vocabulary.size();
  std::size_t size = 0;
  for (const auto& [piece, id] : vocabulary) size = std::max(size, static_cast<std::size_t>(id) + 1);
  for (const AddedPiece& piece : added) {
    count += piece.in_vocabulary ? 0 : 1;
    size = std::max(size, static_cast<std::size_t>(piece.token.id) + 1);
  }
  std::vector<std::string> pieces(std::min(size, count + kMaxGaps));
  core::StopCheck check("opening a tokenizer");
  for (const auto& [piece, id] : vocabulary) {
    check(100);
    place_piece(pieces, id, piece, count, where);
  }
  for (const AddedPiece& piece : added)
    if (!piece.in_vocabulary) place_piece(pieces, piece.token.id, piece.token.text, count, where);
  return pieces;
}

}  // namespace dragoman::tokenizer
