#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// A piece of the list that says which ids a model was trained with.
struct ListedPiece {
  std::string text;  ///< valid UTF-8, not empty, unique in the list
  /// What it is to be. None: what the SentencePiece model says of it or, of a piece that it lacks, kUnused: the piece
  /// has an id and a text to decode to, but is never made from text.
  std::optional<UnigramPiece::Type> type = std::nullopt;
};

/// The pieces of a vocabulary beside a SentencePiece model (OPUS-MT's `vocab.json`, fairseq's `dict.txt` with its
/// special tokens in front and language codes behind, the vocabularies of Marian and CTranslate2), by id.
struct RenumberedPieces {
  std::vector<ListedPiece> pieces;
  /// Ids of the special pieces. The unknown piece must be there: if no id is given, it is the piece with the text of
  /// the model's own. The others become control pieces, and the model names them in its trainer_spec.
  std::optional<std::int32_t> unknown = std::nullopt;
  std::optional<std::int32_t> begin = std::nullopt;
  std::optional<std::int32_t> end = std::nullopt;
  std::optional<std::int32_t> padding = std::nullopt;
};

struct RenumberedModel {
  std::string model;  ///< serialised
  /// Pieces of the list that the model lacked, without special ones.
  std::size_t lacking = 0;
  /// Pieces of the model that the list lacks and without which texts would be cut in other places. They stand behind
  /// the list. Programs that look pieces up in a vocabulary read them as the unknown piece; so does a tokenizer of the
  /// kind `sentencepiece` with the option `listed`, the length of the list. 0: a list of all pieces.
  std::size_t beyond = 0;
};

/// A SentencePiece model, BPE or unigram, that cuts texts as `model` does and whose pieces have the ids of the list.
/// Pieces that `model` has keep their scores, and their types unless the list says otherwise; normalisation and all
/// else is kept to the byte.
///
/// A BPE model merges any two neighbours whose text is a piece, an unused one, too. So where that could happen to a
/// piece that it lacks, the piece becomes a control piece instead, which decodes to nothing.
///
/// Any thread may call. `name` begins every message. Throws Error{kBadInput} for a damaged model, for a list with
/// empty, invalid or repeated pieces or ids beyond it, and where no piece is the unknown one; Error{kUnsupported} for
/// models of types other than BPE and unigram.
RenumberedModel renumber_sentencepiece(std::string_view model, const RenumberedPieces& list, const std::string& name);

/// The pieces of a SentencePiece model in the order of its ids, with their types: what a list is made from where ids
/// are those of the model, moved (fairseq, mBART, NLLB). Throws as renumber_sentencepiece().
std::vector<UnigramPiece> sentencepiece_pieces(std::string_view model, const std::string& name);

}  // namespace dragoman::tokenizer
