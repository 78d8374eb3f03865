#include "piece_rules.h"

#include <algorithm>

#include <unicode/uscript.h>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// The long vowel mark, which both Hiragana and Katakana use.
constexpr char32_t kProlongedSound = 0x30FC;
/// No value of UScriptCode.
constexpr std::int32_t kNoScript = -2;

bool is_between(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

}  // namespace

PieceRules::PieceRules(const LearnUnigramOptions& options, std::span<const char32_t> alphabet,
                       const std::vector<std::string>& reserved)
    : options_(options), alphabet_(alphabet), reserved_(reserved.begin(), reserved.end()) {
  characters_.push_back({Kind::kAny, 0});
  for (const char32_t character : alphabet) characters_.push_back(classify(character));
}

PieceRules::Character PieceRules::classify(char32_t c) const {
  if (c == kWordMarkCharacter) return {Kind::kMark, 0};
  const bool ascii_digit = is_between(c, U'0', U'9');
  if (options_.split_digits && (ascii_digit || is_between(c, U'\uFF10', U'\uFF19'))) return {Kind::kDigit, 0};
  if (!options_.split_numbers && ascii_digit) return {Kind::kAny, 0};
  UErrorCode ignored = U_ZERO_ERROR;
  UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &ignored);
  if (script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA || c == kProlongedSound) script = USCRIPT_HAN;
  // A combining mark has the script of its base character.
  if (script == USCRIPT_INHERITED) return {Kind::kAny, 1};
  return {Kind::kScript, script};
}

bool PieceRules::is_valid(std::span<const std::uint32_t> symbols) const {
  if (options_.whitespace_pieces && is_whitespace(symbols)) return !is_reserved(symbols);
  std::int32_t script = kNoScript;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Character& character = characters_[symbols[i]];
    switch (character.kind) {
      case Kind::kMark: {
        const bool at_edge = i == (options_.normalization.space_as_suffix ? symbols.size() - 1 : 0);
        const bool at_other_edge = i == (options_.normalization.space_as_suffix ? 0 : symbols.size() - 1);
        if (options_.split_whitespace ? !at_edge : at_other_edge && !at_edge) return false;
        script = kNoScript;
        break;
      }
      case Kind::kDigit:
        if (symbols.size() > 1) return false;
        break;
      case Kind::kAny:
        if (character.script == 0) script = kNoScript;
        break;
      case Kind::kScript:
        if (options_.split_scripts && script != kNoScript && script != character.script) return false;
        script = character.script;
        break;
    }
  }
  return !is_reserved(symbols);
}

bool PieceRules::is_whitespace(std::span<const std::uint32_t> symbols) const {
  return std::ranges::all_of(symbols, [&](std::uint32_t symbol) { return characters_[symbol].kind == Kind::kMark; });
}

bool PieceRules::is_reserved(std::span<const std::uint32_t> symbols) const {
  return !reserved_.empty() && reserved_.contains(text_of(symbols));
}

std::string PieceRules::text_of(std::span<const std::uint32_t> symbols) const {
  std::string text;
  for (const std::uint32_t symbol : symbols) core::append_utf8(text, alphabet_[symbol - 1]);
  return text;
}

}  // namespace dragoman::tokenizer
