#pragma once

#include "base/piece_table.h"
#include "definition/composed_definition.h"
#include "json_part.h"
#include "tokenizer_json_document.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The pieces of a `tokenizer.json`: pieces of the model and added tokens.
namespace dragoman::tokenizer {

using PiecesWithIds = std::vector<std::pair<std::string_view, std::int32_t>>;

/// The pieces that the model lists, by their texts. The texts are stored in the document.
class ListedPieces {
 public:
  ListedPieces(const TokenizerDocument& document, const std::string& where);
  ListedPieces(const ListedPieces&) = delete;
  ListedPieces& operator=(const ListedPieces&) = delete;

  /// Returns the id of a piece, or -1.
  std::int32_t id_of(std::string_view piece) const;
  const PiecesWithIds& all() const noexcept { return vocabulary_; }

 private:
  PiecesWithIds numbered_;  // for a list with scores, else empty
  const PiecesWithIds& vocabulary_;
  std::vector<std::string_view> texts_;  // in the order of the file
  PieceTable<std::string_view> entries_{texts_};
};

struct AddedPiece {
  ComposedToken token;
  bool in_vocabulary;  ///< the model lists it, too
};

/// Returns the added tokens. If several have the same text, the first one counts. Tokens that the model does not list
/// get the ids that the `tokenizers` library assigns, whatever ids the file has: the next ones, in the order of the
/// file.
std::vector<AddedPiece> read_added_tokens(const JsonPart& top, const ListedPieces& listed);

/// Returns the pieces by id, from the model's vocabulary and from added tokens beyond it. Empty if no piece has the id.
std::vector<std::string> pieces_by_id(const PiecesWithIds& vocabulary, const std::vector<AddedPiece>& added,
                                      const std::string& where);

}  // namespace dragoman::tokenizer
