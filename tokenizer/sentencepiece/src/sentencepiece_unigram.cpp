#include "sentencepiece_unigram.h"

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
  definition.character_map = model.character_map;
  definition.dummy_prefix = model.dummy_prefix;
  definition.remove_extra_spaces = model.remove_extra_spaces;
  definition.escape_spaces = model.escape_spaces;
  definition.space_as_suffix = model.space_as_suffix;
  return definition;
}

}  // namespace dragoman::tokenizer
