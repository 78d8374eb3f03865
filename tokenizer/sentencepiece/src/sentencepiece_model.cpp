#include "sentencepiece/sentencepiece_model.h"

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Model = SentencePieceModel;
using namespace model_fields;

// Field numbers in sentencepiece_model.proto.
constexpr std::uint32_t kNormalizer = 3, kDenormalizer = 5;
constexpr std::uint32_t kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr std::uint32_t kModelType = 3, kSpaceAsSuffix = 24, kByteFallback = 35, kUnknownSurface = 44;
constexpr std::uint32_t kNormalizerName = 1, kCharacterMap = 2, kDummyPrefix = 3, kRemoveExtraSpaces = 4,
                        kEscapeSpaces = 5;

Model::Piece read_piece(std::string_view message, std::size_t offset, const std::string& where) {
  Model::Piece piece;
  WireReader reader(message, where, offset);
  for (WireField field; reader.next(field);) {
    if (field.number == kPieceText && field.type == WireField::Type::kBytes) piece.text = field.bytes;
    if (field.number == kPieceScore && field.type == WireField::Type::kFixed32) piece.score = wire_float(field);
    if (field.number == kPieceType && field.type == WireField::Type::kVarint) piece.type = field.value;
  }
  require(std::isfinite(piece.score), ErrorCode::kBadInput, "{}: the score of {} is not a number", where,
          Quoted{piece.text});
  return piece;
}

void read_trainer(std::string_view message, std::size_t offset, const std::string& where, Model& model) {
  WireReader reader(message, where, offset);
  for (WireField field; reader.next(field);) {
    if (field.type == WireField::Type::kBytes && field.number == kUnknownSurface) model.unknown_surface = field.bytes;
    if (field.type != WireField::Type::kVarint) continue;
    if (field.number == kModelType) model.model_type = field.value;
    if (field.number == kByteFallback) model.byte_fallback = field.value != 0;
    if (field.number == kSpaceAsSuffix) model.space_as_suffix = field.value != 0;
  }
}

void read_normalizer(std::string_view message, std::size_t offset, const std::string& where, Model& model) {
  WireReader reader(message, where, offset);
  for (WireField field; reader.next(field);) {
    if (field.type == WireField::Type::kBytes) {
      if (field.number == kNormalizerName) model.normalizer_name = field.bytes;
      if (field.number == kCharacterMap) model.character_map = field.bytes;
    } else {
      if (field.number == kDummyPrefix) model.dummy_prefix = field.value != 0;
      if (field.number == kRemoveExtraSpaces) model.remove_extra_spaces = field.value != 0;
      if (field.number == kEscapeSpaces) model.escape_spaces = field.value != 0;
    }
  }
}

bool has_character_map(std::string_view message, std::size_t offset, const std::string& where) {
  Model model;
  read_normalizer(message, offset, where, model);
  return !model.character_map.empty();
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& name) {
  Model model;
  WireReader reader(bytes, name);
  for (WireField field; reader.next(field);) {
    if (field.type != WireField::Type::kBytes) continue;
    const std::size_t offset = reader.offset_of(field);
    if (field.number == kPieces)
      model.pieces.push_back(read_piece(field.bytes, offset, fmt::format("{}: piece {}", name, model.pieces.size())));
    if (field.number == kTrainer) read_trainer(field.bytes, offset, name + ": trainer_spec", model);
    if (field.number == kNormalizer) read_normalizer(field.bytes, offset, name + ": normalizer_spec", model);
    if (field.number == kDenormalizer)
      model.denormalizer = has_character_map(field.bytes, offset, name + ": denormalizer_spec");
  }
  require(!model.pieces.empty(), ErrorCode::kBadInput, "{}: no pieces; not a SentencePiece model", name);
  return model;
}

void check_library_opens(const SentencePieceModel& model) {
  const auto check = [](bool condition, std::string_view text, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "the SentencePiece library would not open the model: {} {}",
            Quoted{text}, reason);
  };
  core::TextViewSet texts;
  std::size_t bytes = 0;
  std::size_t unknown = 0;
  for (const Model::Piece& piece : model.pieces) {
    check(!piece.text.empty(), piece.text, "is an empty piece");
    check(piece.text.find('\0') == std::string::npos, piece.text, "holds the character NUL");
    check(texts.insert(piece.text).second, piece.text, "is a piece twice");
    bytes += piece.type == Model::kByte ? 1 : 0;
    unknown += piece.type == Model::kUnknown ? 1 : 0;
    check(piece.type != Model::kUnknown || unknown == 1, piece.text, "is a second unknown piece");
    check(piece.type != Model::kByte || byte_of_piece(piece.text), piece.text, "is no name of a byte");
    check(piece.type != Model::kByte || model.byte_fallback, piece.text, "is a byte, but there is no byte fallback");
  }
  require(unknown == 1, ErrorCode::kUnsupported,
          "the SentencePiece library would not open the model: it has no unknown piece");
  require(!model.byte_fallback || bytes == 256, ErrorCode::kUnsupported,
          "the SentencePiece library would not open the model: byte fallback needs 256 pieces that are bytes, and {} "
          "are; byte pieces cannot be special tokens or user-defined symbols as well",
          bytes);
}

void write_piece(const Model::Piece& piece, WireWriter& file) {
  WireWriter message;
  message.bytes(kPieceText, piece.text);
  message.real(kPieceScore, piece.score);
  if (piece.type != Model::kNormal) message.varint(kPieceType, piece.type);
  file.bytes(kPieces, message.message());
}

std::string serialize(const SentencePieceModel& model) {
  WireWriter file;
  for (const Model::Piece& piece : model.pieces) write_piece(piece, file);
  WireWriter trainer;
  trainer.varint(kModelType, model.model_type);
  trainer.varint(kVocabularySize, model.pieces.size());
  if (model.space_as_suffix) trainer.varint(kSpaceAsSuffix, 1);
  trainer.varint(kByteFallback, model.byte_fallback ? 1 : 0);
  if (model.unknown_surface != Model().unknown_surface) trainer.bytes(kUnknownSurface, model.unknown_surface);
  file.bytes(kTrainer, trainer.message());
  WireWriter normalizer;
  normalizer.bytes(kNormalizerName, model.normalizer_name);
  if (!model.character_map.empty()) normalizer.bytes(kCharacterMap, model.character_map);
  normalizer.varint(kDummyPrefix, model.dummy_prefix ? 1 : 0);
  normalizer.varint(kRemoveExtraSpaces, model.remove_extra_spaces ? 1 : 0);
  normalizer.varint(kEscapeSpaces, model.escape_spaces ? 1 : 0);
  file.bytes(kNormalizer, normalizer.message());
  return file.message();
}

std::string_view name_of_model_type(std::uint64_t type) noexcept {
  constexpr std::string_view kTypes[] = {"unigram", "unigram", "bpe", "word", "char"};
  return type < std::size(kTypes) ? kTypes[type] : "?";
}

}  // namespace dragoman::tokenizer
