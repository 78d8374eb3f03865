#pragma once

#include "sentencepiece/protobuf_wire.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// The contents of a SentencePiece `.model` (sentencepiece_model.proto), without fields that are not used here.
struct SentencePieceModel {
  enum PieceType : std::uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
  enum ModelType : std::uint64_t { kUnigram = 1, kBpe = 2, kChar = 4 };
  struct Piece {
    std::string text;
    float score = 0;
    std::uint64_t type = kNormal;
  };

  std::vector<Piece> pieces;
  std::uint64_t model_type = kUnigram;
  bool byte_fallback = false;
  bool space_as_suffix = false;
  std::string unknown_surface = " \xE2\x81\x87 ";
  std::string normalizer_name;
  std::string character_map;  ///< serialised; empty if there is none
  bool denormalizer = false;
  bool dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
};

/// Field numbers of the file, and of trainer_spec.
namespace model_fields {
inline constexpr std::uint32_t kPieces = 1, kTrainer = 2;
inline constexpr std::uint32_t kVocabularySize = 4;
}  // namespace model_fields

/// Every message begins with `name`. Throws Error{kBadInput} with the offset for bytes that are not such a file.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& name);

/// Throws Error{kUnsupported} that names the piece for a model that the SentencePiece library would reject.
void check_library_opens(const SentencePieceModel& model);

std::string serialize(const SentencePieceModel& model);
/// Writes the next piece of a model.
void write_piece(const SentencePieceModel::Piece& piece, WireWriter& file);

/// Returns "unigram", "bpe", "word" or "char".
std::string_view name_of_model_type(std::uint64_t type) noexcept;

}  // namespace dragoman::tokenizer
