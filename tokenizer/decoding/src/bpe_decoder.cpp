#include "decoding/bpe_decoder.h"

#include "base/find_text.h"
#include "definition/escapes.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

/// Limits the length of pieces, which the replacements of a hostile file could otherwise make as large as the memory.
constexpr std::size_t kMaxGrowth = 64;

std::string replace_all(const std::string& text, const Replacement& replacement, std::size_t limit) {
  std::string result;
  std::size_t begin = 0;
  for (std::size_t match = find_text(text, replacement.pattern); match != std::string::npos;
       match = find_text(text, replacement.pattern, begin)) {
    result.append(text, begin, match - begin).append(replacement.content);
    core::require(result.size() <= limit, core::ErrorCode::kBadInput,
                  "the decoder of this tokenizer makes a piece more than {} times as long; correct its Replace steps",
                  kMaxGrowth);
    begin = match + replacement.pattern.size();
  }
  return result.append(text, begin);
}

std::string surface_of(const std::string& piece, const DecoderSteps& steps) {
  std::string text = piece;
  for (const Replacement& replacement : steps.replacements)
    text = replace_all(text, replacement, piece.size() * kMaxGrowth);
  const auto byte = steps.byte_fallback ? byte_of_piece(text) : std::nullopt;
  return byte ? std::string(1, static_cast<char>(*byte)) : text;
}

std::string surface_of(const std::string& piece, const MetaspaceDecoder&) {
  return replace_all(piece, {kWordMark, " "}, piece.size());
}

std::string surface_of(const std::string& piece, const CharacterText& text) {
  return std::visit([&](const auto& decoder) { return surface_of(piece, decoder); }, text.decoder);
}

std::string surface_of(const std::string& piece, const SuffixedText& text) {
  return piece.ends_with(text.suffix) ? piece.substr(0, piece.size() - text.suffix.size()) + " " : piece;
}

std::string surface_of(const std::string& piece, const ByteLevelText&) {
  return from_byte_alphabet(piece).value_or(piece);
}

std::string surface_of(const std::string& piece, const SentencePieceText&) {
  return piece;  // SentencePieceDecoder does the rest
}

/// Returns whether the first piece of a text loses its mark.
bool loses_first_mark(const TextDefinition& text) {
  const auto* characters = std::get_if<CharacterText>(&text);
  const auto* decoder = characters == nullptr ? nullptr : std::get_if<MetaspaceDecoder>(&characters->decoder);
  return decoder != nullptr && decoder->prepend != PrependScheme::kNever;
}

}  // namespace

bool BpeDecoder::may_refuse(const BpeDefinition& definition) {
  const DecoderSteps* steps = definition.decoder_steps();
  return steps != nullptr && std::ranges::any_of(steps->replacements, [](const Replacement& step) {
           return step.content.size() > step.pattern.size();
         });
}

BpeDecoder::BpeDecoder(const BpeDefinition& definition)
    : special_(definition.pieces.size(), false), ends_word_(definition.pieces.size(), false) {
  const auto add_surfaces = [&](const auto& text) {
    for (const std::string& piece : definition.pieces) surfaces_.push_back(surface_of(piece, text));
  };
  std::visit(add_surfaces, definition.text);
  if (const auto* text = std::get_if<SuffixedText>(&definition.text))
    for (std::size_t id = 0; id < definition.pieces.size(); ++id)
      ends_word_[id] = definition.pieces[id].ends_with(text->suffix);
  const auto* characters = std::get_if<CharacterText>(&definition.text);
  if (characters != nullptr && std::holds_alternative<MetaspaceDecoder>(characters->decoder))
    replacements_ = {{kWordMark, " "}};
  if (loses_first_mark(definition.text))
    for (const std::string& piece : definition.pieces)
      first_surfaces_.push_back(replace_all(piece, {kWordMark, ""}, piece.size()));
  const DecoderSteps* steps = definition.decoder_steps();
  if (steps != nullptr) replacements_ = steps->replacements;
  if (steps != nullptr) escapes_ = steps->escapes;
  if (steps != nullptr && steps->strip) {
    strip_ = steps->strip->character;
    strip_count_ = steps->strip->most;
  }
  for (const AddedToken& token : definition.added_tokens) {
    if (token.special) {
      special_[static_cast<std::size_t>(token.id)] = true;
      surfaces_[static_cast<std::size_t>(token.id)].clear();
      ends_word_[static_cast<std::size_t>(token.id)] = false;
    } else if (steps != nullptr && steps->drop_space_after_symbols) {
      symbols_.add(surfaces_[static_cast<std::size_t>(token.id)]);
    }
  }
}

std::string BpeDecoder::surface_of_text(std::string_view piece, bool first) const {
  std::string text(piece);
  if (first && has_first_surfaces()) return replace_all(text, {kWordMark, ""}, text.size());
  for (const Replacement& replacement : replacements_) text = replace_all(text, replacement, piece.size() * kMaxGrowth);
  return text;
}

std::string BpeDecoder::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  bool first = has_first_surfaces();
  core::StopCheck check("decoding ids");
  for (const std::int32_t id : ids) {
    check(10);
    text += first && !is_special(id) ? first_surface(id) : surface(id);
    first = first && is_special(id);
  }
  if (ends_with_a_word(ids)) text.pop_back();
  if (!escapes_.empty() && text.find(kEscapeCharacter) != std::string::npos) {
    std::string undone;
    undo_escapes(escapes_, text, false, undone);
    text = std::move(undone);
  }
  if (!symbols_.empty()) text = drop_space_after_symbols(text);
  std::string_view rest = text;
  for (std::size_t i = 0; i < strip_count_ && !strip_.empty() && rest.starts_with(strip_); ++i)
    rest.remove_prefix(strip_.size());
  text.erase(0, text.size() - rest.size());  // in one step, since a text may consist of spaces
  return text;
}

bool BpeDecoder::ends_with_a_word(std::span<const std::int32_t> ids) const {
  for (auto id = ids.rbegin(); id != ids.rend(); ++id)
    if (!surfaces_[static_cast<std::size_t>(*id)].empty()) return ends_word_[static_cast<std::size_t>(*id)];
  return false;
}

/// The text after a symbol was encoded like a separate text, with a leading word mark that represents no space.
std::string BpeDecoder::drop_space_after_symbols(const std::string& text) const {
  std::string result;
  std::size_t begin = 0;
  for (std::size_t space = text.find(' '); space != std::string::npos; space = text.find(' ', space + 1)) {
    if (!symbols_.has_end_of(std::string_view(text).substr(0, space))) continue;
    result.append(text, begin, space - begin);
    begin = space + 1;
  }
  return result.append(text, begin);
}

}  // namespace dragoman::tokenizer
