#include "sentencepiece.h"

#include "ranked_pieces.h"
#include "wire.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;
using Kind = NormalizerStep::Kind;

enum PieceType : std::uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
constexpr std::uint64_t kBpe = 2;
constexpr std::size_t kAllSpaces = 0x7FFFFFFF;

// Numbers of fields in sentencepiece_model.proto.
constexpr std::uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5;
constexpr std::uint32_t kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr std::uint32_t kModelType = 3, kVocabularySize = 4, kSpaceAsSuffix = 24, kByteFallback = 35;
constexpr std::uint32_t kNormalizerName = 1, kCharacterMap = 2, kDummyPrefix = 3, kRemoveExtraSpaces = 4,
                        kEscapeSpaces = 5;

struct StoredPiece {
  std::string text;
  float score = 0;
  std::uint64_t type = kNormal;
};

struct Model {
  std::vector<StoredPiece> pieces;
  std::uint64_t model_type = 1;
  bool byte_fallback = false;
  bool space_as_suffix = false;
  std::string normalizer_name;
  bool character_map = false;
  bool denormalizer = false;
  bool dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
};

StoredPiece read_piece(std::string_view message, std::size_t offset, const std::string& where) {
  StoredPiece piece;
  WireReader reader(message, where, offset);
  for (WireField field; reader.next(field);) {
    if (field.number == kPieceText && field.type == WireField::Type::kBytes) piece.text = field.bytes;
    if (field.number == kPieceScore && field.type == WireField::Type::kFixed32) piece.score = wire_float(field);
    if (field.number == kPieceType && field.type == WireField::Type::kVarint) piece.type = field.value;
  }
  require(std::isfinite(piece.score), ErrorCode::kBadInput, "{}: the score of '{}' is not a number", where, piece.text);
  return piece;
}

void read_trainer(std::string_view message, std::size_t offset, const std::string& where, Model& model) {
  WireReader reader(message, where, offset);
  for (WireField field; reader.next(field);) {
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
      if (field.number == kCharacterMap) model.character_map = !field.bytes.empty();
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
  return model.character_map;
}

Model read_model(std::string_view bytes, const std::string& name) {
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

void check_supported(const Model& model, const std::string& name) {
  const auto check = [&](bool condition, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "{}: {}", name, reason);
  };
  constexpr std::string_view kTypes[] = {"unigram", "unigram", "bpe", "word", "char"};
  check(model.model_type == kBpe, fmt::format("a SentencePiece model of the type {}; only bpe is supported",
                                              model.model_type < std::size(kTypes) ? kTypes[model.model_type] : "?"));
  check(!model.character_map,
        fmt::format("the normalisation '{}' is not supported; only identity is, so train the model with "
                    "--normalization_rule_name=identity and normalise the text before",
                    model.normalizer_name));
  check(!model.denormalizer, "a denormaliser is not supported");
  check(!model.space_as_suffix, "treat_whitespace_as_suffix is not supported");
  check(model.escape_spaces, "escape_whitespaces=false is not supported");
}

std::vector<NormalizerStep> normalizer_of(bool dummy_prefix, bool remove_extra_spaces) {
  std::vector<NormalizerStep> steps;
  if (remove_extra_spaces)
    for (const Kind kind : {Kind::kTrimStart, Kind::kTrimEnd, Kind::kSqueeze}) steps.push_back({kind, " ", {}});
  if (dummy_prefix) steps.push_back({Kind::kPrepend, {}, kWordMark});
  steps.push_back({Kind::kReplace, " ", kWordMark});
  // SentencePiece takes marks off at the end only after spaces became marks, so those of the text vanish, too.
  if (remove_extra_spaces) steps.push_back({Kind::kTrimEnd, kWordMark, {}});
  return steps;
}

DecoderDefinition decoder_of(const Model& model) {
  DecoderDefinition decoder;
  decoder.replacements.push_back({kWordMark, " "});
  decoder.byte_fallback = std::ranges::any_of(model.pieces, [](const auto& piece) { return piece.type == kByte; });
  if (model.dummy_prefix || model.remove_extra_spaces) {
    decoder.strip = std::string(" ");
    decoder.strip_count = model.remove_extra_spaces ? kAllSpaces : 1;
  }
  return decoder;
}

/// Ranks by falling score, equal for equal scores.
std::vector<std::int64_t> rank_scores(const std::vector<StoredPiece>& pieces) {
  std::vector<float> scores;
  for (const StoredPiece& piece : pieces) scores.push_back(piece.score);
  std::ranges::sort(scores, std::greater<>());
  std::vector<std::int64_t> ranks;
  for (const StoredPiece& piece : pieces)
    ranks.push_back(std::ranges::lower_bound(scores, piece.score, std::greater<>()) - scores.begin());
  return ranks;
}

RankedPieces rank_pieces(const std::vector<StoredPiece>& pieces, const std::string& name) {
  RankedPieces ranked;
  ranked.ranks = rank_scores(pieces);
  std::unordered_map<std::string_view, std::int32_t> characters;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].type == kNormal && !pieces[i].text.empty() &&
        core::decode_utf8(pieces[i].text, 0).length == pieces[i].text.size())
      characters.emplace(pieces[i].text, static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view text = pieces[i].text;
    auto& parts = ranked.parts.emplace_back();
    ranked.texts.push_back(pieces[i].type == kNormal ? pieces[i].text : std::string());
    if (pieces[i].type != kNormal) ranked.ranks[i] = -1;
    for (std::size_t at = 0; at < text.size() && pieces[i].type == kNormal;) {
      const std::size_t length = core::decode_utf8(text, at).length;
      const auto character = characters.find(text.substr(at, length));
      require(character != characters.end(), ErrorCode::kUnsupported,
              "{}: the piece '{}' holds the character '{}', which is no piece itself; that is not supported", name,
              text, text.substr(at, length));
      parts.push_back(character->second);
      at += length;
    }
  }
  return ranked;
}

/// Whether no merge reaches over the beginning of a word, so that words can be encoded apart.
bool words_are_apart(const BpeDefinition& definition) {
  const auto apart = [&](const Merge& merge) {
    return definition.pieces[static_cast<std::size_t>(merge.result)].find(kWordMark, 1) == std::string::npos;
  };
  return std::ranges::find(definition.pieces, kWordMark) != definition.pieces.end() &&
         std::ranges::all_of(definition.merges, apart);
}

void add_piece(const StoredPiece& piece, const std::string& name, BpeDefinition& definition) {
  const auto id = static_cast<std::int32_t>(definition.pieces.size());
  require(piece.type >= kNormal && piece.type <= kByte, ErrorCode::kBadInput, "{}: piece {} has the unknown type {}",
          name, id, piece.type);
  require(piece.type != kUserDefined && piece.type != kUnused, ErrorCode::kUnsupported,
          "{}: the piece '{}' is {}; that is not supported", name, piece.text,
          piece.type == kUserDefined ? "user-defined" : "unused");
  if (piece.type == kUnknown) {
    require(!definition.unknown, ErrorCode::kBadInput, "{}: '{}' is a second unknown piece", name, piece.text);
    definition.unknown = id;
  }
  if (piece.type == kUnknown || piece.type == kControl) definition.added_tokens.push_back({.id = id, .special = true});
  definition.pieces.push_back(piece.text);
}

// ---- writing

[[noreturn]] void cannot_write(std::string_view reason) {
  core::fail(ErrorCode::kUnsupported, "a SentencePiece model cannot represent this tokenizer: {}", reason);
}

void check_writable(const BpeDefinition& d) {
  if (d.byte_level) cannot_write("its pieces are spelled in the byte alphabet");
  if (d.end_of_word != EndOfWord::kNone) cannot_write("it marks the ends of words");
  if (!d.unknown) cannot_write("it has no unknown token");
  if (!d.byte_fallback && !d.fuse_unknown) cannot_write("each unknown character gives an unknown token of its own");
  if (d.ignore_merges) cannot_write("it takes whole words from the vocabulary without merges");
  if (!d.expansions.empty() || d.merge_in_rounds) cannot_write("it has a restricted vocabulary or merges in rounds");
  for (const AddedToken& token : d.added_tokens)
    if (!token.special) cannot_write("it has user-defined symbols");
}

Model normalizer_options(const BpeDefinition& definition) {
  for (const bool dummy_prefix : {true, false})
    for (const bool remove_extra_spaces : {true, false})
      if (definition.normalizer == normalizer_of(dummy_prefix, remove_extra_spaces)) {
        Model model;
        model.dummy_prefix = dummy_prefix;
        model.remove_extra_spaces = remove_extra_spaces;
        return model;
      }
  cannot_write("its normalisation is not one that a model without a character map has");
}

std::vector<StoredPiece> stored_pieces(const BpeDefinition& d, const std::vector<Merge>& merges) {
  constexpr std::size_t kExactInFloat = std::size_t{1} << 24;
  if (merges.size() + d.pieces.size() >= kExactInFloat) cannot_write("it has too many merges for scores");
  std::vector<StoredPiece> pieces;
  for (std::size_t i = 0; i < d.pieces.size(); ++i)
    pieces.push_back({d.pieces[i], -static_cast<float>(merges.size() + i), kNormal});
  for (std::size_t rank = 0; rank < merges.size(); ++rank)
    pieces[static_cast<std::size_t>(merges[rank].result)].score = -static_cast<float>(rank);
  for (StoredPiece& piece : pieces)
    if (d.byte_fallback && byte_of_piece(piece.text)) piece = {piece.text, 0, kByte};
  for (const AddedToken& token : d.added_tokens) {
    StoredPiece& piece = pieces[static_cast<std::size_t>(token.id)];
    piece = {piece.text, 0, token.id == *d.unknown ? kUnknown : kControl};
  }
  return pieces;
}

std::string write_model(const Model& model) {
  WireWriter file;
  for (const StoredPiece& piece : model.pieces) {
    WireWriter message;
    message.bytes(kPieceText, piece.text);
    message.real(kPieceScore, piece.score);
    if (piece.type != kNormal) message.varint(kPieceType, piece.type);
    file.bytes(kPieces, message.message());
  }
  WireWriter trainer;
  trainer.varint(kModelType, kBpe);
  trainer.varint(kVocabularySize, model.pieces.size());
  trainer.varint(kByteFallback, model.byte_fallback ? 1 : 0);
  file.bytes(kTrainer, trainer.message());
  WireWriter normalizer;
  normalizer.bytes(kNormalizerName, "identity");
  normalizer.varint(kDummyPrefix, model.dummy_prefix ? 1 : 0);
  normalizer.varint(kRemoveExtraSpaces, model.remove_extra_spaces ? 1 : 0);
  normalizer.varint(kEscapeSpaces, 1);
  file.bytes(kNormalizer, normalizer.message());
  return file.message();
}

/// The way of splitting is not compared: it only says whether words can be encoded apart.
void check_same(const BpeDefinition& read, const BpeDefinition& definition, const std::vector<Merge>& merges) {
  if (read.merges != merges)
    cannot_write("two neighbours whose text is a piece merge in SentencePiece, which differs from its merges");
  if (read.split != definition.split || definition.split_digits ||
      (definition.split_pattern != read.split_pattern && !definition.split_pattern.empty()))
    cannot_write("it cuts words in another way");
}

}  // namespace

BpeDefinition read_sentencepiece(std::string_view bytes, const std::string& name) {
  const Model model = read_model(bytes, name);
  check_supported(model, name);
  BpeDefinition definition;
  for (const StoredPiece& piece : model.pieces) add_piece(piece, name, definition);
  require(definition.unknown.has_value(), ErrorCode::kBadInput, "{}: no unknown piece", name);
  definition.byte_fallback = model.byte_fallback;
  definition.fuse_unknown = true;
  definition.normalizer = normalizer_of(model.dummy_prefix, model.remove_extra_spaces);
  definition.decoder = decoder_of(model);
  definition.merges = explicit_merges(rank_pieces(model.pieces, name), name);
  if (words_are_apart(definition)) definition.split_pattern = std::string(kWordMark);
  return definition;
}

std::string write_sentencepiece(const BpeDefinition& definition) {
  check_writable(definition);
  const std::vector<Merge> merges = reachable_merges(definition);
  Model model = normalizer_options(definition);
  model.byte_fallback = definition.byte_fallback;
  model.pieces = stored_pieces(definition, merges);
  std::string bytes = write_model(model);
  check_same(read_sentencepiece(bytes, "the model as written"), definition, merges);
  return bytes;
}

}  // namespace dragoman::tokenizer
