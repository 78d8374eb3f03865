#include "sentencepiece_unigram.h"

#include "sentencepiece/sentencepiece_files.h"

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

using core::ErrorCode;
using core::require;

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
  return serialize(model);
}

}  // namespace dragoman::tokenizer
