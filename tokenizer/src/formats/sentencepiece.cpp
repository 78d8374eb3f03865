#include "sentencepiece.h"

#include "../word_splitting.h"
#include "character_map.h"
#include "ranked_pieces.h"
#include "sentencepiece_model.h"
#include "sentencepiece_unigram.h"

#include <algorithm>
#include <unordered_map>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;
using Kind = NormalizerStep::Kind;
using Model = SentencePieceModel;
using StoredPiece = Model::Piece;

constexpr std::size_t kAllSpaces = 0x7FFFFFFF;

void check_supported(const Model& model, const std::string& name) {
  const auto check = [&](bool condition, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "{}: {}", name, reason);
  };
  check(model.model_type != Model::kUnigram,
        "a SentencePiece model of the type unigram has no merges; it encodes and decodes, but cannot be converted");
  check(model.model_type == Model::kBpe,
        fmt::format("a SentencePiece model of the type {}; bpe and unigram are supported",
                    name_of_model_type(model.model_type)));
  check(!model.denormalizer, "a denormaliser is not supported");
  check(!model.space_as_suffix, "treat_whitespace_as_suffix is not supported with merges");
  check(model.escape_spaces, "escape_whitespaces=false is not supported with merges");
}

/// Whether the mark that stands in front of a text is still that mark, or the space that it stands for, when the rules
/// of the map have been applied to it and the text.
bool keeps_the_mark(const CharacterMap& map) {
  const CharacterMap::Match match = map.longest_prefix(kWordMark);
  const bool kept = match.length == 0 || (match.length == std::string_view(kWordMark).size() &&
                                          (match.replacement == " " || match.replacement == kWordMark));
  return kept && !map.has_longer_rule(kWordMark);
}

/// The library applies the rules of a map one after the other and looks at spaces meanwhile; our steps follow one
/// another. The two differ where a rule makes several spaces, or changes the mark that stands in front.
void check_character_map(const Model& model, const std::string& name) {
  if (model.character_map.empty()) return;
  const CharacterMap map(model.character_map, name);
  const auto check = [&](bool condition, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "{}: the normalisation '{}' {}; that is not supported with merges",
            name, model.normalizer_name, reason);
  };
  check(!model.remove_extra_spaces || !map.some_replacement_holds("  "), "makes several spaces out of a character");
  check(model.remove_extra_spaces || !model.dummy_prefix || keeps_the_mark(map), "changes U+2581");
}

std::vector<NormalizerStep> normalizer_of(const Model& model) {
  std::vector<NormalizerStep> steps;
  const NormalizerStep prepend{Kind::kPrepend, {}, kWordMark};
  // A text that the map makes empty still gets the prefix, as any text that is not empty does.
  if (model.dummy_prefix && !model.remove_extra_spaces) steps.push_back(prepend);
  if (!model.character_map.empty()) steps.push_back({Kind::kCharacterMap, model.normalizer_name, model.character_map});
  if (model.remove_extra_spaces)
    for (const Kind kind : {Kind::kTrimStart, Kind::kTrimEnd, Kind::kSqueeze}) steps.push_back({kind, " ", {}});
  if (model.dummy_prefix && model.remove_extra_spaces) steps.push_back(prepend);
  steps.push_back({Kind::kReplace, " ", kWordMark});
  // SentencePiece takes marks off at the end only after spaces became marks, so those of the text vanish, too.
  if (model.remove_extra_spaces) steps.push_back({Kind::kTrimEnd, kWordMark, {}});
  return steps;
}

DecoderDefinition decoder_of(const Model& model) {
  DecoderDefinition decoder;
  decoder.replacements.push_back({kWordMark, " "});
  decoder.byte_fallback =
      std::ranges::any_of(model.pieces, [](const auto& piece) { return piece.type == Model::kByte; });
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
    if (pieces[i].type == Model::kNormal && !pieces[i].text.empty() &&
        core::decode_utf8(pieces[i].text, 0).length == pieces[i].text.size())
      characters.emplace(pieces[i].text, static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view text = pieces[i].text;
    auto& parts = ranked.parts.emplace_back();
    ranked.texts.push_back(pieces[i].type == Model::kNormal ? pieces[i].text : std::string());
    if (pieces[i].type != Model::kNormal) ranked.ranks[i] = -1;
    for (std::size_t at = 0; at < text.size() && pieces[i].type == Model::kNormal;) {
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
  require(piece.type >= Model::kNormal && piece.type <= Model::kByte, ErrorCode::kBadInput,
          "{}: piece {} has the unknown type {}", name, id, piece.type);
  require(piece.type != Model::kUserDefined && piece.type != Model::kUnused, ErrorCode::kUnsupported,
          "{}: the piece '{}' is {}; that is not supported", name, piece.text,
          piece.type == Model::kUserDefined ? "user-defined" : "unused");
  if (piece.type == Model::kUnknown) {
    require(!definition.unknown, ErrorCode::kBadInput, "{}: '{}' is a second unknown piece", name, piece.text);
    definition.unknown = id;
  }
  if (piece.type == Model::kUnknown || piece.type == Model::kControl)
    definition.added_tokens.push_back({.id = id, .special = true});
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
  Model model;
  model.normalizer_name = "identity";
  for (const NormalizerStep& step : definition.normalizer)
    if (step.kind == Kind::kCharacterMap) {
      model.normalizer_name = step.pattern;
      model.character_map = step.content;
    }
  for (const bool dummy_prefix : {true, false})
    for (const bool remove_extra_spaces : {true, false}) {
      model.dummy_prefix = dummy_prefix;
      model.remove_extra_spaces = remove_extra_spaces;
      if (definition.normalizer == normalizer_of(model)) return model;
    }
  cannot_write("its normalisation is not one that such a model can describe");
}

std::vector<StoredPiece> stored_pieces(const BpeDefinition& d, const std::vector<Merge>& merges) {
  constexpr std::size_t kExactInFloat = std::size_t{1} << 24;
  if (merges.size() + d.pieces.size() >= kExactInFloat) cannot_write("it has too many merges for scores");
  std::vector<StoredPiece> pieces;
  for (std::size_t i = 0; i < d.pieces.size(); ++i)
    pieces.push_back({d.pieces[i], -static_cast<float>(merges.size() + i), Model::kNormal});
  for (std::size_t rank = 0; rank < merges.size(); ++rank)
    pieces[static_cast<std::size_t>(merges[rank].result)].score = -static_cast<float>(rank);
  for (StoredPiece& piece : pieces)
    if (d.byte_fallback && byte_of_piece(piece.text)) piece = {piece.text, 0, Model::kByte};
  for (const AddedToken& token : d.added_tokens) {
    StoredPiece& piece = pieces[static_cast<std::size_t>(token.id)];
    piece = {piece.text, 0, token.id == *d.unknown ? Model::kUnknown : Model::kControl};
  }
  return pieces;
}

/// The way of splitting is not compared: it only says whether words can be encoded apart.
void check_same(const BpeDefinition& read, const BpeDefinition& definition, const std::vector<Merge>& merges) {
  if (read.merges != merges)
    cannot_write("two neighbours whose text is a piece merge in SentencePiece, which differs from its merges");
  if (read.split != definition.split || cuts_inside_words(definition) ||
      (definition.split_pattern != read.split_pattern && !definition.split_pattern.empty()))
    cannot_write("it cuts words in another way");
}

}  // namespace

BpeDefinition read_sentencepiece(std::string_view bytes, const std::string& name) {
  const Model model = parse_sentencepiece_model(bytes, name);
  check_supported(model, name);
  check_character_map(model, name);
  BpeDefinition definition;
  for (const StoredPiece& piece : model.pieces) add_piece(piece, name, definition);
  require(definition.unknown.has_value(), ErrorCode::kBadInput, "{}: no unknown piece", name);
  definition.byte_fallback = model.byte_fallback;
  definition.fuse_unknown = true;
  definition.normalizer = normalizer_of(model);
  definition.decoder = decoder_of(model);
  definition.merges = explicit_merges(rank_pieces(model.pieces, name), name);
  if (words_are_apart(definition)) definition.split_pattern = std::string(kWordMark);
  return definition;
}

std::unique_ptr<Tokenizer> open_sentencepiece(std::string_view bytes, const std::string& name) {
  const Model model = parse_sentencepiece_model(bytes, name);
  if (model.model_type == Model::kUnigram) return std::make_unique<UnigramTokenizer>(read_unigram(model, name), name);
  return std::make_unique<BpeTokenizer>(read_sentencepiece(bytes, name), name);
}

std::string write_sentencepiece(const BpeDefinition& definition) {
  check_writable(definition);
  const std::vector<Merge> merges = reachable_merges(definition);
  Model model = normalizer_options(definition);
  model.model_type = Model::kBpe;
  model.byte_fallback = definition.byte_fallback;
  model.pieces = stored_pieces(definition, merges);
  std::string bytes = serialize(model);
  check_same(read_sentencepiece(bytes, "the model as written"), definition, merges);
  return bytes;
}

}  // namespace dragoman::tokenizer
