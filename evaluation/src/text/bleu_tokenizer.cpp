#include "rewrite.h"
#include "separate_tokens.h"
#include "text.h"
#include "western_punctuation.h"

#include <algorithm>
#include <utility>

#include <unicode/uchar.h>

#include <dragoman/core/error.h>
#include <dragoman/evaluation/bleu_tokenizer.h>

namespace dragoman::evaluation {
namespace {

bool has_category(char32_t c, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0;
}
bool is_number(char32_t c) {
  return has_category(c, U_GC_N_MASK);
}
bool is_punctuation(char32_t c) {
  return has_category(c, U_GC_P_MASK);
}
bool is_symbol(char32_t c) {
  return has_category(c, U_GC_S_MASK);
}

std::string separate_13a(std::string text) {
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  resolve_entities(text);
  return pad_numeric_punctuation(pad_western_punctuation(" " + text + " "));
}

std::string separate_international(std::string_view text) {
  std::u32string characters = decode(text);
  characters = pad_second(
      characters, [](char32_t c) { return !is_number(c); }, is_punctuation);
  characters = pad_first(characters, is_punctuation, [](char32_t c) { return !is_number(c); });
  return encode(pad(characters, is_symbol));
}

std::string separate_characters(std::string_view text) {
  std::u32string separated;
  for (const char32_t c : decode(text)) {
    separated.push_back(c);
    separated.push_back(' ');
  }
  return encode(separated);
}

/// Returns whether the tokenizer `zh` treats the character as a token: CJK ideographs, punctuation and compatibility
/// forms. sacreBLEU writes two planes of ideographs as escapes that Python reads as two characters each. These produce
/// its ranges from U+2001 and from U+2F81, and leave out the ideographs beyond U+FFFF.
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3000, 0x303F}, {0x3100, 0x312F},
      {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF}, {0x3400, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D},
      {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
  return std::ranges::any_of(kRanges, [c](const auto& range) { return range.first <= c && c <= range.second; });
}

std::string separate_chinese(std::string_view text) {
  const std::u32string characters = decode(text);
  const auto first = std::ranges::find_if_not(characters, is_space);
  return pad_numeric_punctuation(
      pad_western_punctuation(encode(pad(std::u32string(first, characters.end()), is_chinese))));
}

}  // namespace

std::string_view tokenizer_name(BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::k13a:
      return "13a";
    case BleuTokenizer::kInternational:
      return "intl";
    case BleuTokenizer::kCharacter:
      return "char";
    case BleuTokenizer::kNone:
      return "none";
    case BleuTokenizer::kChinese:
      return "zh";
  }
  core::fail(core::ErrorCode::kInvalidArgument, "there is no BLEU tokenizer number {}", static_cast<int>(tokenizer));
}

std::string separate_tokens(std::string_view segment, BleuTokenizer tokenizer) {
  segment = trim_right(segment);
  switch (tokenizer) {
    case BleuTokenizer::k13a:
      return separate_13a(std::string(segment));
    case BleuTokenizer::kInternational:
      return separate_international(segment);
    case BleuTokenizer::kCharacter:
      return separate_characters(segment);
    case BleuTokenizer::kChinese:
      return separate_chinese(segment);
    case BleuTokenizer::kNone:
      break;
  }
  return std::string(segment);
}

std::vector<std::string> tokenize(std::string_view segment, BleuTokenizer tokenizer) {
  const std::string separated = separate_tokens(segment, tokenizer);
  const std::vector<std::string_view> tokens = split(separated);
  return {tokens.begin(), tokens.end()};
}

}  // namespace dragoman::evaluation
