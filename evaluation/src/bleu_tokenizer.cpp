#include "rewrite.h"
#include "separate_tokens.h"
#include "text.h"
#include "western_punctuation.h"

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
