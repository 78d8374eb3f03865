#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// An entry of the list of pieces with which a model was trained.
struct ListedPiece {
  std::string text;  ///< valid UTF-8, not empty, unique in the list
  /// The type of the piece. If not set: its type in the SentencePiece model, or kUnused if the model lacks it. A
  /// kUnused piece has an id and a text to decode to, but is never produced from text.
  std::optional<UnigramPiece::Type> type = std::nullopt;
};

/// The pieces, by id, of a vocabulary that accompanies a SentencePiece model: OPUS-MT's `vocab.json`, fairseq's
/// `dict.txt` with leading special tokens and trailing language codes, the vocabularies of Marian and CTranslate2.
struct RenumberedPieces {
  std::vector<ListedPiece> pieces;
  /// The ids of the special pieces. The unknown piece is required: if no id is given, it is the piece with the text of
  /// the model's own unknown piece. The others become control pieces, which the model names in its trainer_spec.
  std::optional<std::int32_t> unknown = std::nullopt;
  std::optional<std::int32_t> begin = std::nullopt;
  std::optional<std::int32_t> end = std::nullopt;
  std::optional<std::int32_t> padding = std::nullopt;
};

/// The result of renumber_sentencepiece().
struct RenumberedModel {
  std::string model;  ///< serialised
  /// The number of pieces in the list that the model lacks, without special ones.
  std::size_t lacking = 0;
  /// The number of pieces of the model that the list lacks, but without which texts would be segmented differently.
  /// They follow the list. Programs that look pieces up in a vocabulary read them as the unknown piece. So does a
  /// tokenizer of the kind `sentencepiece` if the option `listed` is the length of the list. 0: the list has all
  /// pieces.
  std::size_t beyond = 0;
};

/// Returns a SentencePiece model, BPE or unigram, that segments texts like `model` and whose pieces have the ids of the
/// list. Pieces of `model` keep their scores, and their types unless the list specifies others. Normalisation and all
/// other data are kept to the byte.
///
///     const std::string model = core::read_file("source.spm");                                     // core/file.h
///     const RenumberedPieces list{.pieces = {{"<s>"}, {"<unk>"}, {"</s>"}, {"▁Haus"}}, .unknown = 1};
///     core::write_file("renumbered.spm", renumber_sentencepiece(model, list, "source.spm").model);
///
/// A BPE model merges any two neighbours whose text is a piece, even an unused one. If that could produce a piece that
/// `model` lacks, the piece becomes a control piece instead, which decodes to nothing.
///
/// Thread-safe. Every message starts with `name`. Throws Error{kBadInput} for a damaged model; for a list with empty,
/// invalid or repeated pieces, or with special ids outside it; and if no piece is the unknown one. Throws
/// Error{kUnsupported} for models that are neither BPE nor unigram.
RenumberedModel renumber_sentencepiece(std::string_view model, const RenumberedPieces& list, const std::string& name);

/// Returns the pieces of a SentencePiece model with their types, in the order of its ids. Lists are built from them if
/// the ids are the model's ids plus an offset (fairseq, mBART, NLLB). Throws like renumber_sentencepiece().
std::vector<UnigramPiece> sentencepiece_pieces(std::string_view model, const std::string& name);

}  // namespace dragoman::tokenizer
