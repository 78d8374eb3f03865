#include "sentencepiece_unigram.h"

#include "sentencepiece/sentencepiece_files.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {

using core::ErrorCode;
using core::Quoted;
using core::require;

namespace {

/// A truncated file without the setting of byte fallback may still have all pieces.
void check_byte_pieces(const SentencePieceModel& model, const std::string& name) {
  std::size_t bytes = 0;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type != SentencePieceModel::kByte) continue;
    require(model.byte_fallback, ErrorCode::kBadInput,
            "{}: {} is a byte piece, but byte fallback is off; the file is cut or damaged, get it again", name,
            Quoted{piece.text});
    require(byte_of_piece(piece.text).has_value(), ErrorCode::kBadInput, "{}: the byte piece {} has no name of a byte",
            name, Quoted{piece.text});
    ++bytes;
  }
  require(!model.byte_fallback || bytes == 256, ErrorCode::kBadInput,
          "{}: byte fallback is on, but there are {} byte pieces and not 256; the file is cut or damaged, get it again",
          name, bytes);
}

}  // namespace

SentencePieceModel parse_restricted_model(std::string_view bytes, const std::string& name,
                                          const VocabularyOfTexts* vocabulary) {
  using Model = SentencePieceModel;
  Model model = parse_sentencepiece_model(bytes, name);
  check_byte_pieces(model, name);
  if (vocabulary == nullptr) return model;
  const auto is_listed = [&](const Model::Piece& piece) { return vocabulary->contains(piece.text); };
  require(std::ranges::any_of(model.pieces, is_listed), ErrorCode::kBadInput,
          "{}: `vocabulary` lists no piece of this model, so all words would fall into characters; name the list that "
          "was made with this model",
          name);
  for (Model::Piece& piece : model.pieces)
    if (piece.type == Model::kNormal || piece.type == Model::kUnused)
      piece.type = vocabulary->contains(piece.text) || is_one_character(piece.text) ? Model::kNormal : Model::kUnused;
  return model;
}

UnigramDefinition read_unigram(const SentencePieceModel& model, const std::string& name) {
  require(!model.denormalizer, ErrorCode::kUnsupported, "{}: a denormaliser is not supported", name);
  UnigramDefinition definition;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    require(piece.type >= SentencePieceModel::kNormal && piece.type <= SentencePieceModel::kByte, ErrorCode::kBadInput,
            "{}: piece {} has the unknown type {}", name, definition.pieces.size(), piece.type);
    definition.pieces.push_back({piece.text, piece.score, static_cast<UnigramPiece::Type>(piece.type)});
  }
  definition.byte_fallback = model.byte_fallback;
  definition.unknown_surface = model.unknown_surface;
  definition.normalizer_name = model.normalizer_name;
  definition.character_map = model.character_map;
  definition.dummy_prefix = model.dummy_prefix;
  definition.remove_extra_spaces = model.remove_extra_spaces;
  definition.escape_spaces = model.escape_spaces;
  definition.space_as_suffix = model.space_as_suffix;
  return definition;
}

std::optional<UnigramDefinition> read_sentencepiece_unigram(std::string_view bytes, const std::string& name,
                                                            const VocabularyOfTexts* vocabulary) {
  const SentencePieceModel model = parse_restricted_model(bytes, name, vocabulary);
  if (model.model_type != SentencePieceModel::kUnigram) return std::nullopt;
  return read_unigram(model, name);
}

std::string write_sentencepiece_unigram(const UnigramDefinition& definition) {
  require(!definition.unknown_by_text, ErrorCode::kUnsupported,
          "a SentencePiece model cannot say that unknown characters are looked up as texts");
  SentencePieceModel model;
  for (const UnigramPiece& piece : definition.pieces)
    model.pieces.push_back({piece.text, piece.score, static_cast<std::uint64_t>(piece.type)});
  model.model_type = SentencePieceModel::kUnigram;
  model.byte_fallback = definition.byte_fallback;
  model.unknown_surface = definition.unknown_surface;
  model.normalizer_name = definition.normalizer_name;
  model.character_map = definition.character_map;
  model.dummy_prefix = definition.dummy_prefix;
  model.remove_extra_spaces = definition.remove_extra_spaces;
  model.escape_spaces = definition.escape_spaces;
  model.space_as_suffix = definition.space_as_suffix;
  check_library_opens(model);
  return serialize(model);
}

}  // namespace dragoman::tokenizer
