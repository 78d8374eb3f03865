#include "sentencepiece/in_steps.h"

#include "base/piece_table.h"
#include "json/tokenizer_json.h"
#include "normalizing/sentencepiece_normalizer.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using Kind = NormalizerStep::Kind;
using Type = UnigramPiece::Type;

constexpr std::size_t kAllSpaces = 0x7FFFFFFF;

[[noreturn]] void refuse_json(std::string_view reason) {
  core::fail(ErrorCode::kUnsupported, "tokenizer.json cannot represent this tokenizer: {}", reason);
}

DecoderSteps decoder_steps(const SentencePieceNormalization& normalization, bool decodes_bytes) {
  DecoderSteps steps{.replacements = {{kWordMark, " "}}, .byte_fallback = decodes_bytes};
  if (normalization.dummy_prefix || normalization.remove_extra_spaces)
    steps.strip = Strip{.character = " ", .most = normalization.remove_extra_spaces ? kAllSpaces : 1};
  return steps;
}

SentencePieceText text_of(const UnigramDefinition& d, bool split_at_marks) {
  return {.normalization = {.name = d.normalizer_name,
                            .character_map = d.character_map,
                            .dummy_prefix = d.dummy_prefix,
                            .remove_extra_spaces = d.remove_extra_spaces,
                            .escape_spaces = d.escape_spaces,
                            .space_as_suffix = d.space_as_suffix},
          .split_at_marks = split_at_marks,
          .byte_fallback = d.byte_fallback,
          .decodes_bytes = d.byte_fallback};
}

bool is_made_from_text(const UnigramPiece& piece) {
  return piece.type == Type::kNormal || piece.type == Type::kUserDefined;
}

using Texts = core::TextViewSet;

Texts texts_from_text(const UnigramDefinition& definition) {
  Texts texts;
  for (const UnigramPiece& piece : definition.pieces)
    if (is_made_from_text(piece)) texts.insert(piece.text);
  return texts;
}

/// An unknown character has another score there, which does not matter if no piece contains it.
void require_characters(const UnigramDefinition& definition, const Texts& texts) {
  for (const UnigramPiece& piece : definition.pieces) {
    if (!is_made_from_text(piece)) continue;
    for (std::size_t at = 0; at < piece.text.size();) {
      const std::size_t length = core::decode_utf8(piece.text, at).length;
      if (!texts.contains(std::string_view(piece.text).substr(at, length)))
        refuse_json(fmt::format("the piece {} holds the character {}, which is no piece itself", Quoted{piece.text},
                                Quoted{piece.text.substr(at, length)}));
      at += length;
    }
  }
}

/// Returns whether words begin at marks, and no piece crosses the beginning of a word.
bool words_are_apart(const UnigramDefinition& definition, const Texts& texts) {
  return texts.contains(kWordMark) && std::ranges::all_of(definition.pieces, [](const UnigramPiece& piece) {
           return !is_made_from_text(piece) || piece.text.find(kWordMark, 1) == std::string::npos;
         });
}

/// Returns the scores for a format in which text may become every listed piece. A piece that text must not become gets
/// a lower score than any other segmentation of its text. User-defined symbols get the score that the library gives
/// them.
std::vector<double> scores_of(const UnigramDefinition& definition) {
  constexpr double kSymbolBonus = 0.1;
  double least = -1;
  std::size_t longest = 1;
  for (const UnigramPiece& piece : definition.pieces) {
    if (piece.type == Type::kNormal) least = std::min(least, static_cast<double>(piece.score));
    longest = std::max(longest, piece.text.size());
  }
  const double never = std::floor(least * static_cast<double>(longest + 1));
  std::vector<double> scores;
  for (const UnigramPiece& piece : definition.pieces)
    scores.push_back(
        piece.type == Type::kNormal ? static_cast<double>(piece.score)
        : piece.type == Type::kUserDefined
            ? static_cast<double>(static_cast<float>(kSymbolBonus * static_cast<double>(piece.text.size() - 1)))
            : never);
  return scores;
}

/// The library protects symbols from normalisation, which steps do not.
void check_symbols(const UnigramDefinition& definition) {
  SentencePieceNormalization normalization = text_of(definition, false).normalization;
  normalization.dummy_prefix = false;
  const SentencePieceNormalizer normalizer(normalization, {}, "the model");
  AlignedText normal;
  for (const UnigramPiece& piece : definition.pieces) {
    if (piece.type != Type::kUserDefined) continue;
    normalizer.apply(piece.text, 0, false, normal);
    if (normal.text != piece.text)
      refuse_json(fmt::format("its normalisation would change the user-defined symbol {}", Quoted{piece.text}));
  }
}

}  // namespace

NormalizerSteps normalizer_steps(const SentencePieceNormalization& normalization) {
  NormalizerSteps steps;
  if (!normalization.character_map.empty()) steps.push_back({Kind::kPrecompiled, {}, normalization.character_map});
  if (normalization.remove_extra_spaces)
    for (const Kind kind : {Kind::kTrimStart, Kind::kTrimEnd, Kind::kSqueeze}) steps.push_back({kind, " ", {}});
  if (normalization.dummy_prefix) steps.push_back({Kind::kPrepend, {}, kWordMark});
  steps.push_back({Kind::kReplace, " ", kWordMark});
  // SentencePiece removes marks at the end only after spaces have become marks, so marks of the text are removed too.
  if (normalization.remove_extra_spaces) steps.push_back({Kind::kTrimEnd, kWordMark, {}});
  return steps;
}

CharacterText text_in_steps(const SentencePieceText& text) {
  return {.normalizer = normalizer_steps(text.normalization),
          .pre_tokenizer = SplitBefore{.mark = text.split_at_marks ? kWordMark : ""},
          .byte_fallback = text.byte_fallback,
          .decoder = decoder_steps(text.normalization, text.decodes_bytes)};
}

BpeDefinition in_steps(BpeDefinition definition) {
  if (maps_clusters(definition)) definition.text = text_in_steps(std::get<SentencePieceText>(definition.text));
  return definition;
}

bool maps_clusters(const BpeDefinition& definition) {
  const auto* text = std::get_if<SentencePieceText>(&definition.text);
  return text != nullptr && !text->normalization.character_map.empty() && text->normalization.escape_spaces &&
         !text->normalization.space_as_suffix && std::ranges::all_of(definition.added_tokens, &AddedToken::special);
}

bool maps_clusters(const UnigramDefinition& definition) {
  return !definition.character_map.empty();
}

std::string write_unigram_as_json(const UnigramDefinition& definition) {
  if (definition.unknown_by_text) refuse_json("unknown characters are looked up as texts");
  if (definition.space_as_suffix) refuse_json("it marks the ends of words, and the end of a text even without a space");
  if (!definition.escape_spaces) refuse_json("it has pieces with spaces");
  const Texts texts = texts_from_text(definition);
  require_characters(definition, texts);
  check_symbols(definition);
  BpeDefinition parts;
  UnigramOfWords unigram{.scores = scores_of(definition), .byte_fallback = definition.byte_fallback};
  for (const UnigramPiece& piece : definition.pieces) {
    const auto id = static_cast<std::int32_t>(parts.pieces.size());
    parts.pieces.push_back(piece.text);
    if (piece.type == Type::kUnknown) unigram.unknown = id;
    if (piece.type == Type::kUnknown || piece.type == Type::kControl)
      parts.added_tokens.push_back({.id = id, .special = true});
  }
  parts.text = text_in_steps(text_of(definition, words_are_apart(definition, texts)));
  return write_unigram_json(parts, unigram);
}

}  // namespace dragoman::tokenizer
