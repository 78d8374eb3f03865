#include "definition/add_token.h"
#include "definition/escapes.h"
#include "dragoman/tokenizer/vocabulary_editing.h"
#include "editing/vocabulary_subset.h"
#include "pre_tokenizing/word_cutter.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

std::vector<std::int32_t> same_ids(std::size_t pieces) {
  std::vector<std::int32_t> ids(pieces);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

/// Returns whether every text begins with a mark that decoding removes. The text after a symbol then begins with one
/// too.
bool marks_every_text(const BpeDefinition& definition) {
  const DecoderSteps* decoder = definition.decoder_steps();
  const NormalizerSteps& steps = definition.normalizer();
  return decoder != nullptr && decoder->strip && decoder->strip->character == " " &&
         std::ranges::find(steps, NormalizerStep::Kind::kPrepend, &NormalizerStep::kind) != steps.end();
}

void require_alike(bool alike, std::string_view what) {
  require(
      alike, ErrorCode::kInvalidArgument,
      "the two vocabularies cannot be merged: they differ in {}, so that a text would have to be treated in two ways",
      what);
}

std::string unknown_text(const BpeDefinition& definition) {
  return definition.unknown ? definition.pieces[static_cast<std::size_t>(*definition.unknown)] : std::string();
}

std::optional<PrependScheme> metaspace_scheme(const BpeDefinition& definition) {
  const Metaspace* metaspace = definition.metaspace();
  return metaspace == nullptr ? std::nullopt : std::optional(metaspace->prepend);
}

bool adds_prefix_space(const BpeDefinition& definition) {
  const auto* text = std::get_if<ByteLevelText>(&definition.text);
  return text != nullptr && text->add_prefix_space;
}

bool is_byte_level(const BpeDefinition& definition) {
  return std::holds_alternative<ByteLevelText>(definition.text);
}

/// Returns the suffix and the continuation mark.
std::pair<std::string_view, std::string_view> end_of_word(const BpeDefinition& definition) {
  const auto* text = std::get_if<SuffixedText>(&definition.text);
  if (text == nullptr) return {};
  return {text->suffix, text->continuation_mark()};
}

/// Returns whether merges are applied in rounds, as with codes.
bool merges_in_rounds(const BpeDefinition& definition) {
  return definition.codes() != nullptr;
}

DecoderDefinition decoder_apart_from_symbols(const BpeDefinition& definition) {
  const auto* text = std::get_if<CharacterText>(&definition.text);
  if (text == nullptr) return {};
  DecoderDefinition decoder = text->decoder;
  if (auto* steps = std::get_if<DecoderSteps>(&decoder)) steps->drop_space_after_symbols = false;
  return decoder;
}

void check_alike(const BpeDefinition& a, const BpeDefinition& b) {
  require_alike(a.normalizer() == b.normalizer() && metaspace_scheme(a) == metaspace_scheme(b), "their normalisers");
  require_alike(WordCutter(a.text) == WordCutter(b.text) && a.inner_cuts() == b.inner_cuts() &&
                    adds_prefix_space(a) == adds_prefix_space(b),
                "how they cut text into words");
  require_alike(is_byte_level(a) == is_byte_level(b) && a.byte_fallback() == b.byte_fallback(), "how they write bytes");
  require_alike(end_of_word(a) == end_of_word(b), "how they mark the ends of words");
  require_alike(unknown_text(a) == unknown_text(b) && a.fuse_unknown == b.fuse_unknown, "their unknown tokens");
  require_alike(a.ignore_merges == b.ignore_merges && merges_in_rounds(a) == merges_in_rounds(b),
                "the order of their merges");
  require_alike(decoder_apart_from_symbols(a) == decoder_apart_from_symbols(b), "their decoders");
}

enum class Role { kOrdinary, kSpecial, kSymbol };

std::vector<Role> roles(const BpeDefinition& definition) {
  std::vector<Role> roles(definition.pieces.size(), Role::kOrdinary);
  for (const AddedToken& token : definition.added_tokens)
    roles[static_cast<std::size_t>(token.id)] = token.special ? Role::kSpecial : Role::kSymbol;
  return roles;
}

/// Adds the pieces of the second vocabulary that the first lacks. Returns the ids of all its pieces.
std::vector<std::int32_t> add_pieces(BpeDefinition& definition, const BpeDefinition& second) {
  const std::vector<Role> first_roles = roles(definition);
  const std::vector<Role> second_roles = roles(second);
  core::TextMap<std::int32_t> known;
  for (std::size_t id = 0; id < definition.pieces.size(); ++id)
    known.emplace(definition.pieces[id], static_cast<std::int32_t>(id));
  std::vector<std::int32_t> new_ids;
  for (std::size_t id = 0; id < second.pieces.size(); ++id) {
    const auto next = static_cast<std::int32_t>(definition.pieces.size());
    const auto [found, is_new] = known.emplace(second.pieces[id], next);
    require(is_new || first_roles[static_cast<std::size_t>(found->second)] == second_roles[id],
            ErrorCode::kInvalidArgument,
            "the two vocabularies cannot be merged: {} is a special token, user symbol or ordinary piece in one and "
            "another of these in the other",
            Quoted{second.pieces[id]});
    if (is_new) definition.pieces.push_back(second.pieces[id]);
    if (is_new && second_roles[id] != Role::kOrdinary)
      definition.added_tokens.push_back({next, second_roles[id] == Role::kSpecial});
    new_ids.push_back(found->second);
  }
  return new_ids;
}

void add_merges(BpeDefinition& definition, const BpeDefinition& second, const std::vector<std::int32_t>& new_ids) {
  std::set<std::pair<std::int32_t, std::int32_t>> known;
  for (const Merge& merge : definition.merges) known.emplace(merge.left, merge.right);
  const auto new_id = [&](std::int32_t id) { return new_ids[static_cast<std::size_t>(id)]; };
  for (const Merge& merge : second.merges)
    if (known.emplace(new_id(merge.left), new_id(merge.right)).second)
      definition.merges.push_back({new_id(merge.left), new_id(merge.right), new_id(merge.result)});
}

}  // namespace

VocabularyEdit extend(const BpeDefinition& definition, const std::vector<std::string>& special_tokens,
                      const std::vector<std::string>& user_symbols) {
  check_editable(definition);
  VocabularyEdit edit{definition, same_ids(definition.pieces.size())};
  list_added_tokens(edit.definition);
  const core::TextViewSet known(definition.pieces.begin(), definition.pieces.end());
  const auto add = [&](const std::vector<std::string>& tokens, bool special) {
    for (const std::string& token : tokens)
      require(!known.contains(token), ErrorCode::kInvalidArgument,
              "{} is a piece of this vocabulary already; a token of that spelling would change what texts mean",
              Quoted{token});
    add_tokens(edit.definition, tokens, special);
    for (const std::string& token : tokens)
      if (special && core::decode_utf8(token, 0).length == token.size()) add_escape(edit.definition, token);
  };
  add(special_tokens, true);
  add(user_symbols, false);
  if (!user_symbols.empty() && marks_every_text(definition))
    edit.definition.decoder_steps()->drop_space_after_symbols = true;
  return edit;
}

VocabularyEdit merge_vocabularies(const BpeDefinition& first, const BpeDefinition& second) {
  check_editable(first);
  check_editable(second);
  check_alike(first, second);
  VocabularyEdit edit{first, {}};
  list_added_tokens(edit.definition);
  edit.new_ids = add_pieces(edit.definition, second);
  add_merges(edit.definition, second, edit.new_ids);
  if (DecoderSteps* decoder = edit.definition.decoder_steps())
    decoder->drop_space_after_symbols |= second.decoder_steps()->drop_space_after_symbols;
  check_editable(edit.definition);
  return edit;
}

std::string id_map_lines(const VocabularyEdit& edit) {
  std::string lines;
  for (std::size_t id = 0; id < edit.new_ids.size(); ++id)
    lines += fmt::format("{}\t{}\n", id, edit.new_ids[id] == kDroppedPiece ? "-" : std::to_string(edit.new_ids[id]));
  return lines;
}

}  // namespace dragoman::tokenizer
