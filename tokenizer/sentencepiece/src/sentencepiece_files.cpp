#include "sentencepiece/sentencepiece_files.h"

#include "base/trie.h"
#include "definition/escapes.h"
#include "listed_tokenizer.h"
#include "merging/ranked_pieces.h"
#include "normalizing/character_map.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/word_cutter.h"
#include "sentencepiece/in_steps.h"
#include "sentencepiece/sentencepiece_model.h"
#include "sentencepiece_unigram.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Model = SentencePieceModel;
using StoredPiece = Model::Piece;

void check_supported(const Model& model, const std::string& name) {
  const auto check = [&](bool condition, std::string_view reason) {
    require(condition, ErrorCode::kUnsupported, "{}: {}", name, reason);
  };
  check(model.model_type != Model::kUnigram,
        "a SentencePiece model of the type unigram has no merges; it encodes, decodes and is written as "
        "tokenizer-json, but its pieces cannot be edited");
  check(model.model_type == Model::kBpe || model.model_type == Model::kChar,
        fmt::format("a SentencePiece model of the type {}; bpe, unigram and char are read, so learn one of these",
                    name_of_model_type(model.model_type)));
  check(!model.denormalizer, "a denormaliser is not supported");
}

/// Returns whether a symbol is found in the text before normalisation exactly where it is found afterwards, and whether
/// the processing of the text around it does not depend on it. Steps that are applied between symbols are then
/// equivalent.
bool stays_apart(const Model& model, const StoredPiece& symbol) {
  return !model.dummy_prefix && !model.remove_extra_spaces && symbol.text.find(' ') == std::string::npos &&
         symbol.text.find(kWordMark) == std::string::npos;
}

/// Returns whether a sequence of steps is equivalent to the library's processing character by character.
bool has_steps(const Model& model) {
  return model.character_map.empty() && !model.space_as_suffix && model.escape_spaces &&
         std::ranges::all_of(model.pieces, [&](const StoredPiece& piece) {
           return piece.type != Model::kUserDefined || stays_apart(model, piece);
         });
}

SentencePieceNormalization normalization_of(const Model& model) {
  return {.name = model.normalizer_name,
          .character_map = model.character_map,
          .dummy_prefix = model.dummy_prefix,
          .remove_extra_spaces = model.remove_extra_spaces,
          .escape_spaces = model.escape_spaces,
          .space_as_suffix = model.space_as_suffix};
}

bool has_byte_pieces(const Model& model) {
  return std::ranges::find(model.pieces, Model::kByte, &StoredPiece::type) != model.pieces.end();
}

TextDefinition text_of(const Model& model, bool words_are_apart) {
  SentencePieceText text{.normalization = normalization_of(model),
                         .split_at_marks = words_are_apart,
                         .byte_fallback = model.byte_fallback,
                         .decodes_bytes = has_byte_pieces(model)};
  if (has_steps(model)) return text_in_steps(text);
  return text;
}

/// Returns ranks by falling score. Equal scores have equal ranks.
std::vector<std::int64_t> rank_scores(const std::vector<StoredPiece>& pieces) {
  std::vector<float> scores;
  for (const StoredPiece& piece : pieces) scores.push_back(piece.score);
  std::ranges::sort(scores, std::greater<>());
  std::vector<std::int64_t> ranks;
  for (const StoredPiece& piece : pieces)
    ranks.push_back(std::ranges::lower_bound(scores, piece.score, std::greater<>()) - scores.begin());
  return ranks;
}

using CharacterIds = core::TextViewMap<std::int32_t>;

/// Returns whether a piece contains an unknown character. The library produces an unused piece with an unknown
/// character too, and splits it again. The effect is as if the piece did not exist, since no used piece contains that
/// character.
bool holds_unknown_character(std::string_view piece, const CharacterIds& characters) {
  for (std::size_t at = 0; at < piece.size(); at += core::decode_utf8(piece, at).length)
    if (!characters.contains(piece.substr(at, core::decode_utf8(piece, at).length))) return true;
  return false;
}

/// Returns which pieces merges can produce. A text that contains a user-defined symbol is not one, since it is split
/// there first.
std::vector<bool> find_mergeable(const std::vector<StoredPiece>& pieces) {
  std::vector<Trie::Entry> entries;
  for (const StoredPiece& piece : pieces)
    if (piece.type == Model::kUserDefined) entries.emplace_back(piece.text, 0);
  const Trie symbols(std::move(entries));
  std::vector<bool> mergeable;
  for (const StoredPiece& piece : pieces) {
    bool holds_symbol = false;
    for (std::size_t at = 0; at < piece.text.size() && !holds_symbol && !symbols.empty(); ++at)
      holds_symbol = symbols.longest_prefix(std::string_view(piece.text).substr(at)).length > 0;
    mergeable.push_back((piece.type == Model::kNormal || piece.type == Model::kUnused) && !holds_symbol);
  }
  return mergeable;
}

/// Returns the characters of a piece. The library merges texts, so even unknown characters become pieces; Dragoman does
/// not.
std::vector<std::int32_t> characters_of(std::string_view piece, const CharacterIds& characters,
                                        const std::string& name) {
  std::vector<std::int32_t> parts;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t length = core::decode_utf8(piece, at).length;
    const auto character = characters.find(piece.substr(at, length));
    require(character != characters.end(), ErrorCode::kUnsupported,
            "{}: the piece {} holds the character {}, which is no piece made from text itself; that is not "
            "supported",
            name, Quoted{piece}, Quoted{piece.substr(at, length)});
    parts.push_back(character->second);
    at += length;
  }
  return parts;
}

RankedPieces rank_pieces(const std::vector<StoredPiece>& pieces, const std::string& name) {
  const std::vector<bool> mergeable = find_mergeable(pieces);
  CharacterIds characters;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].type == Model::kNormal && is_one_character(pieces[i].text))
      characters.emplace(pieces[i].text, static_cast<std::int32_t>(i));
  RankedPieces ranked;
  ranked.ranks = rank_scores(pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool apart =
        !mergeable[i] || (pieces[i].type == Model::kUnused &&
                          (is_one_character(pieces[i].text) || holds_unknown_character(pieces[i].text, characters)));
    ranked.texts.push_back(apart ? std::string() : pieces[i].text);
    ranked.parts.push_back(apart ? std::vector<std::int32_t>() : characters_of(pieces[i].text, characters, name));
    if (apart) ranked.ranks[i] = -1;
  }
  return ranked;
}

/// An unused piece that merges have produced is split again into the parts from which they produced it.
void expand_unused(BpeDefinition& definition) {
  // By id; null: the piece is used.
  std::vector<std::vector<std::int32_t>*> parts_of(definition.pieces.size(), nullptr);
  for (UnusedPiece& piece : definition.unused) parts_of[static_cast<std::size_t>(piece.id)] = &piece.parts;
  std::vector<Merge> merges;
  for (const Merge& merge : definition.merges)
    if (parts_of[static_cast<std::size_t>(merge.result)] != nullptr) merges.push_back(merge);
  // Shorter pieces first, because longer ones are split into them.
  std::ranges::stable_sort(merges, std::less<>(), [&](const Merge& merge) {
    return definition.pieces[static_cast<std::size_t>(merge.result)].size();
  });
  for (const Merge& merge : merges) {
    auto& whole = *parts_of[static_cast<std::size_t>(merge.result)];
    for (const std::int32_t half : {merge.left, merge.right}) {
      const auto* parts = parts_of[static_cast<std::size_t>(half)];
      if (parts == nullptr || parts->empty())
        whole.push_back(half);
      else
        whole.insert(whole.end(), parts->begin(), parts->end());
    }
  }
}

/// Returns whether no merge crosses the beginning of a word, so that words can be encoded separately.
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
  if (piece.type == Model::kUnknown) {
    require(!definition.unknown, ErrorCode::kBadInput, "{}: {} is a second unknown piece", name, Quoted{piece.text});
    definition.unknown = id;
  }
  if (piece.type == Model::kUnused) definition.unused.push_back({.id = id});
  const bool special = piece.type == Model::kUnknown || piece.type == Model::kControl;
  // A character of the text that equals the name of a special piece is unknown.
  if (special || piece.type == Model::kUserDefined)
    definition.added_tokens.push_back(
        {.id = id, .special = special, .in_vocabulary = !special || !is_one_character(piece.text)});
  definition.pieces.push_back(piece.text);
}

// ---- writing

[[noreturn]] void cannot_write(std::string_view reason) {
  core::fail(ErrorCode::kUnsupported, "a SentencePiece model cannot represent this tokenizer: {}; a tokenizer.json can",
             reason);
}

void check_writable(const BpeDefinition& d) {
  if (std::holds_alternative<ByteLevelText>(d.text)) cannot_write("its pieces are spelled in the byte alphabet");
  if (std::holds_alternative<SuffixedText>(d.text)) cannot_write("it marks the ends of words");
  if (!d.unknown) cannot_write("it has no unknown token");
  if (!d.byte_fallback() && !d.fuse_unknown) cannot_write("each unknown character gives an unknown token of its own");
  if (d.ignore_merges) cannot_write("it takes whole words from the vocabulary without merges");
  if (d.metaspace() != nullptr)
    cannot_write("it looks for a mark at the start of a text before it puts one there (Metaspace)");
}

Model normalizer_options(const BpeDefinition& definition) {
  Model model;
  if (const auto* text = std::get_if<SentencePieceText>(&definition.text)) {
    const SentencePieceNormalization& d = text->normalization;
    model.normalizer_name = d.name;
    model.character_map = d.character_map;
    model.dummy_prefix = d.dummy_prefix;
    model.remove_extra_spaces = d.remove_extra_spaces;
    model.escape_spaces = d.escape_spaces;
    model.space_as_suffix = d.space_as_suffix;
    return model;
  }
  model.normalizer_name = "identity";
  for (const bool dummy_prefix : {true, false})
    for (const bool remove_extra_spaces : {true, false}) {
      model.dummy_prefix = dummy_prefix;
      model.remove_extra_spaces = remove_extra_spaces;
      if (definition.normalizer() == normalizer_steps(normalization_of(model))) return model;
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
    if (d.byte_fallback() && byte_of_piece(piece.text)) piece = {piece.text, 0, Model::kByte};
  for (const AddedToken& token : d.added_tokens) {
    StoredPiece& piece = pieces[static_cast<std::size_t>(token.id)];
    piece = {piece.text, 0,
             token.id == *d.unknown ? Model::kUnknown
             : token.special        ? Model::kControl
                                    : Model::kUserDefined};
  }
  for (const UnusedPiece& piece : d.unused) pieces[static_cast<std::size_t>(piece.id)].type = Model::kUnused;
  return pieces;
}

/// Returns whether both normalise alike. A definition with SentencePiece's normalisation is stored unchanged in the
/// model, whatever the reader makes of it.
bool normalised_alike(const BpeDefinition& read, const BpeDefinition& definition) {
  if (std::holds_alternative<SentencePieceText>(definition.text)) return true;
  return !std::holds_alternative<SentencePieceText>(read.text) && read.normalizer() == definition.normalizer();
}

/// Returns whether a model, which does not cut at digits, gives the pieces of a definition that does: no merge reaches
/// over such a cut, and no unknown digits beside each other become one unknown piece.
bool keeps_inner_cuts(const BpeDefinition& definition, const std::vector<Merge>& merges) {
  InnerCuts cuts = definition.inner_cuts();
  if (!cuts.any()) return true;
  cuts.digits = false;
  const InnerSplits splits = InnerSplits::of(definition);
  return !cuts.any() && definition.byte_fallback() && std::ranges::all_of(merges, [&](const Merge& merge) {
    const std::string& text = definition.pieces[static_cast<std::size_t>(merge.result)];
    return splits.end_of_first(text) == text.size();
  });
}

/// Returns whether both split alike. If words are not split, merges reach as far as in the model: a split only
/// determines whether words can be encoded separately.
bool cut_alike(const BpeDefinition& read, const BpeDefinition& definition, const std::vector<Merge>& merges) {
  const WordCutter cutter(definition.text);
  const WordCutter no_cutter{CharacterText()};
  return keeps_inner_cuts(definition, merges) && (cutter == WordCutter(read.text) || cutter == no_cutter);
}

void check_same(const BpeDefinition& read, const BpeDefinition& definition, const std::vector<Merge>& merges) {
  if (read.merges != merges)
    cannot_write("two neighbours whose text is a piece merge in SentencePiece, which differs from its merges");
  if (!normalised_alike(read, definition))
    cannot_write("a new text, with a mark in front, begins behind each of its user-defined symbols");
  if (read.unused != definition.unused) cannot_write("its unused pieces fall apart into others");
  if (!cut_alike(read, definition, merges)) cannot_write("it cuts words in another way");
}

}  // namespace

BpeDefinition read_sentencepiece(std::string_view bytes, const std::string& name, const VocabularyOfTexts* vocabulary) {
  const Model model = parse_restricted_model(bytes, name, vocabulary);
  check_supported(model, name);
  if (!model.character_map.empty()) CharacterMap(model.character_map, name);  // throws if it is damaged
  BpeDefinition definition;
  for (const StoredPiece& piece : model.pieces) add_piece(piece, name, definition);
  require(definition.unknown.has_value(), ErrorCode::kBadInput, "{}: no unknown piece", name);
  definition.fuse_unknown = true;
  // A model of characters has no merges, regardless of its pieces.
  if (model.model_type == Model::kBpe) definition.merges = explicit_merges(rank_pieces(model.pieces, name), name);
  expand_unused(definition);
  definition.text = text_of(model, words_are_apart(definition));
  return definition;
}

std::unique_ptr<Tokenizer> open_sentencepiece(std::string_view bytes, const std::string& name,
                                              std::optional<std::int32_t> listed, const VocabularyOfTexts* vocabulary) {
  const Model model = parse_restricted_model(bytes, name, vocabulary);
  std::unique_ptr<Tokenizer> tokenizer;
  if (model.model_type == Model::kUnigram) {
    UnigramDefinition definition = read_unigram(model, name);
    definition.unknown_by_text = listed.has_value();
    tokenizer = std::make_unique<UnigramTokenizer>(std::move(definition), name);
  } else {
    tokenizer = std::make_unique<BpeTokenizer>(read_sentencepiece(bytes, name, vocabulary), name);
  }
  if (!listed) return tokenizer;
  const auto unknown = std::ranges::find(model.pieces, std::uint64_t{Model::kUnknown}, &StoredPiece::type);
  require(
      *listed <= tokenizer->size() && unknown - model.pieces.begin() < *listed, ErrorCode::kInvalidArgument,
      "{}: of its {} pieces {} cannot be the listed ones, which are the first ones with the unknown piece among them",
      name, tokenizer->size(), *listed);
  return std::make_unique<ListedTokenizer>(std::move(tokenizer), *listed,
                                           static_cast<std::int32_t>(unknown - model.pieces.begin()));
}

std::string write_sentencepiece(const BpeDefinition& escaped) {
  const BpeDefinition definition = escapes_only_mark(escaped) ? without_escapes(escaped) : escaped;
  check_writable(definition);
  const std::vector<Merge> merges = reachable_merges(definition);
  Model model = normalizer_options(definition);
  model.model_type = Model::kBpe;
  model.byte_fallback = definition.byte_fallback();
  model.pieces = stored_pieces(definition, merges);
  check_library_opens(model);
  std::string bytes = serialize(model);
  check_same(read_sentencepiece(bytes, "the model as written"), definition, merges);
  return bytes;
}

}  // namespace dragoman::tokenizer
