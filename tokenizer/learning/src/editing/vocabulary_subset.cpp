#include "editing/vocabulary_subset.h"

#include "base/index.h"
#include "merging/merge_word.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// Returns the new id for each old id. Kept pieces keep their order.
std::vector<std::int32_t> number(const std::vector<bool>& kept) {
  std::vector<std::int32_t> new_ids(kept.size(), kDroppedPiece);
  std::int32_t next = 0;
  for (std::size_t id = 0; id < kept.size(); ++id)
    if (kept[id]) new_ids[id] = next++;
  return new_ids;
}

}  // namespace

void check_editable(const BpeDefinition& definition) {
  const auto check = [](bool condition, std::string_view reason) {
    core::require(condition, core::ErrorCode::kUnsupported, "this vocabulary cannot be edited: {}", reason);
  };
  const Codes* codes = definition.codes();
  check(!std::holds_alternative<SentencePieceText>(definition.text) && definition.unused.empty(),
        "its normalisation, or its unused pieces, have no place in a tokenizer.json");
  check(codes == nullptr || !codes->expansions, "it is restricted by another one; edit the codes without it");
  check(codes == nullptr || !codes->separate_suffix,
        "the end of a word is a symbol of its own (codes of version 0.1), and pieces depend on one another by it");
  check(codes == nullptr || !rounds_matter(definition.merges, definition.pieces.size()),
        "its merges stand in an order in which subword-nmt gives other pieces than everybody else");
}

void list_added_tokens(BpeDefinition& definition) {
  for (AddedToken& token : definition.added_tokens) {
    const std::string& piece = definition.pieces[index(token.id)];
    token.in_vocabulary |= !token.special || core::decode_utf8(piece, 0).length < piece.size();
  }
}

std::vector<bool> unmerged_pieces(const BpeDefinition& definition) {
  std::vector<bool> unmerged(definition.pieces.size(), true);
  for (const Merge& merge : definition.merges) unmerged[index(merge.result)] = false;
  return unmerged;
}

VocabularyEdit subset(BpeDefinition definition, const std::vector<bool>& kept) {
  std::vector<std::int32_t> new_ids = number(kept);
  std::vector<std::string> pieces;
  for (std::size_t id = 0; id < kept.size(); ++id)
    if (kept[id]) pieces.push_back(std::move(definition.pieces[id]));
  definition.pieces = std::move(pieces);
  std::erase_if(definition.merges, [&](const Merge& merge) {
    return !kept[index(merge.left)] || !kept[index(merge.right)] || !kept[index(merge.result)];
  });
  for (Merge& merge : definition.merges)
    merge = {new_ids[index(merge.left)], new_ids[index(merge.right)], new_ids[index(merge.result)]};
  std::erase_if(definition.added_tokens, [&](const AddedToken& token) { return !kept[index(token.id)]; });
  for (AddedToken& token : definition.added_tokens) token.id = new_ids[index(token.id)];
  if (definition.unknown) {
    const std::int32_t unknown = new_ids[index(*definition.unknown)];
    definition.unknown = unknown == kDroppedPiece ? std::nullopt : std::optional(unknown);
  }
  return {std::move(definition), std::move(new_ids)};
}

}  // namespace dragoman::tokenizer
