#include "ter_tokenizer.h"

#include "rewrite.h"
#include "text.h"
#include "western_punctuation.h"

namespace dragoman::evaluation {
namespace {

constexpr bool between(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

/// Returns whether the character is an ideograph, stroke, radical, enclosed letter, compatibility character or form.
constexpr bool is_ideograph(char32_t c) {
  return between(c, 0x4E00, 0x9FFF) || between(c, 0x3400, 0x4DBF) || between(c, 0x31C0, 0x31EF) ||
         between(c, 0x2E80, 0x2EFF) || between(c, 0x3200, 0x33FF) || between(c, 0xF900, 0xFAFF) ||
         between(c, 0xFE30, 0xFE4F);
}

constexpr bool is_asian_punctuation(char32_t c) {
  return c == 0x3001 || c == 0x3002 || between(c, 0x3008, 0x3011) || between(c, 0x3014, 0x301F) ||
         between(c, 0xFF61, 0xFF65) || c == 0x30FB;
}

constexpr bool is_full_width_punctuation(char32_t c) {
  return c == 0xFF0E || c == 0xFF0C || c == 0xFF1F || between(c, 0xFF1A, 0xFF1B) || between(c, 0xFF01, 0xFF02) ||
         between(c, 0xFF08, 0xFF09);
}

constexpr bool is_removable(char c) {
  return std::string_view(".,?:;!\"()").find(c) != std::string_view::npos;
}

std::string normalize_western(std::string text) {
  replace_all(text, "\n-", "");
  replace_all(text, "\n", " ");
  resolve_entities(text);
  text = pad_western_punctuation(" " + text + " ");
  replace_all(text, "'s ", " 's ");
  return pad_numeric_punctuation(text);
}

/// sacreBLEU's rules for kana are anchored to the start of the line, where normalisation has put a space, so they never
/// apply and are left out here.
std::string normalize_asian(const std::string& text) {
  return encode(pad(decode(text), [](char32_t c) {
    return is_ideograph(c) || is_asian_punctuation(c) || is_full_width_punctuation(c);
  }));
}

std::string remove_asian_punctuation(const std::string& text) {
  std::u32string characters = decode(text);
  std::erase_if(characters, [](char32_t c) { return is_asian_punctuation(c) || is_full_width_punctuation(c); });
  return encode(characters);
}

}  // namespace

std::string separate_ter_words(std::string_view segment, const TerOptions& options) {
  segment = trim_right(segment);
  std::string text = options.case_sensitive ? std::string(segment) : lower_case(segment);
  if (options.normalized) text = normalize_western(std::move(text));
  if (options.normalized && options.asian_support) text = normalize_asian(text);
  if (options.no_punct) std::erase_if(text, is_removable);
  if (options.no_punct && options.asian_support) text = remove_asian_punctuation(text);
  return text;
}

std::vector<std::string> tokenize_for_ter(std::string_view segment, const TerOptions& options) {
  const std::string separated = separate_ter_words(segment, options);
  const std::vector<std::string_view> words = split(separated);
  return {words.begin(), words.end()};
}

}  // namespace dragoman::evaluation
