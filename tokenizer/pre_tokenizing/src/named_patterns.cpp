#include "pre_tokenizing/named_patterns.h"

#include "pre_tokenizing/word_class.h"

#include <algorithm>

#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kCl100k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
constexpr std::string_view kCl100kVariant =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Character {
  WordClass kind = WordClass::kOther;
  std::size_t length = 0;  ///< 0: the end of the text
};

Character character_at(std::string_view text, std::size_t i) {
  if (i >= text.size()) return {};
  static const WordClasses& classes = WordClasses::get();
  const ClassifiedCharacter c = classes.at(text, i);
  return {c.kind, c.length};
}

bool is(const Character& c, WordClass kind) {
  return c.length > 0 && c.kind == kind;
}

std::size_t run_end(std::string_view text, std::size_t i, WordClass kind, std::size_t limit = std::string_view::npos) {
  core::StopCheck check("encoding a text");
  for (Character c = character_at(text, i); limit > 0 && is(c, kind); c = character_at(text, i)) {
    check();
    i += c.length;
    --limit;
  }
  return i;
}

bool is_line_end(char c) {
  return c == '\r' || c == '\n';
}

std::size_t line_ends_end(std::string_view text, std::size_t i) {
  while (i < text.size() && is_line_end(text[i])) ++i;
  return i;
}

char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Returns the length of 's, 't, 're and so on at `begin`, or 0.
std::size_t contraction_length(std::string_view text, std::size_t begin, bool any_case) noexcept {
  constexpr std::string_view kLongS = "\xC5\xBF";  // folds to s
  const std::string_view rest = text.substr(begin);
  if (!rest.starts_with('\'')) return 0;
  if (any_case && rest.substr(1).starts_with(kLongS)) return 1 + kLongS.size();
  for (const std::string_view ending : {"s", "t", "m", "d", "re", "ve", "ll"}) {
    const std::string_view found = rest.substr(1, ending.size());
    if (std::equal(found.begin(), found.end(), ending.begin(), ending.end(),
                   [&](char a, char b) { return (any_case ? ascii_lower(a) : a) == b; }))
      return 1 + ending.size();
  }
  return 0;
}

/// Returns the end of a run of whitespace. Its last character belongs to the next word, unless the text ends there or
/// it is the only one.
std::size_t space_end(std::string_view text, std::size_t begin) {
  std::size_t last = begin;
  std::size_t end = begin;
  core::StopCheck check("encoding a text");
  for (Character c = character_at(text, end); is(c, WordClass::kSpace); c = character_at(text, end)) {
    check();
    last = end;
    end += c.length;
  }
  return end < text.size() && last > begin ? last : end;
}

std::size_t gpt2_word_end(std::string_view text, std::size_t begin) {
  if (const std::size_t length = contraction_length(text, begin, false); length > 0) return begin + length;
  const std::size_t word = text[begin] == ' ' ? begin + 1 : begin;
  const Character first = character_at(text, word);
  if (first.length > 0 && first.kind != WordClass::kSpace) return run_end(text, word, first.kind);
  return space_end(text, begin);
}

/// Whitespace up to its last line end is one word.
std::size_t cl100k_space_end(WordPattern pattern, std::string_view text, std::size_t begin) {
  const std::size_t end = run_end(text, begin, WordClass::kSpace);
  if (pattern == WordPattern::kCl100k && end == text.size()) return end;
  const std::string_view run = text.substr(begin, end - begin);
  const std::size_t last_line_end = run.find_last_of("\r\n");
  return last_line_end != std::string_view::npos ? begin + last_line_end + 1 : space_end(text, begin);
}

std::size_t cl100k_word_end(WordPattern pattern, std::string_view text, std::size_t begin) {
  constexpr std::size_t kDigits = 3;
  if (const std::size_t length = contraction_length(text, begin, true); length > 0) return begin + length;
  const Character first = character_at(text, begin);
  if (first.kind == WordClass::kLetter) return run_end(text, begin, WordClass::kLetter);
  if (first.kind == WordClass::kNumber) return run_end(text, begin, WordClass::kNumber, kDigits);
  const std::size_t second = begin + first.length;
  if (!is_line_end(text[begin]) && is(character_at(text, second), WordClass::kLetter))
    return run_end(text, second, WordClass::kLetter);
  const std::size_t word = text[begin] == ' ' ? second : begin;
  if (is(character_at(text, word), WordClass::kOther))
    return line_ends_end(text, run_end(text, word, WordClass::kOther));
  return cl100k_space_end(pattern, text, begin);
}

}  // namespace

std::size_t pattern_word_end(WordPattern pattern, std::string_view text, std::size_t begin) {
  return pattern == WordPattern::kGpt2 ? gpt2_word_end(text, begin) : cl100k_word_end(pattern, text, begin);
}

std::size_t gpt2_contraction_length(std::string_view text, std::size_t begin) noexcept {
  return contraction_length(text, begin, false);
}

std::size_t white_space_begin(std::string_view text, std::size_t begin) {
  core::StopCheck check("encoding a text");
  Character c = character_at(text, begin);
  for (; c.length > 0 && c.kind != WordClass::kSpace; c = character_at(text, begin)) {
    check();
    begin += c.length;
  }
  return begin;
}

std::string_view regular_expression(WordPattern pattern) noexcept {
  switch (pattern) {
    case WordPattern::kGpt2:
      return kGpt2;
    case WordPattern::kCl100k:
      return kCl100k;
    case WordPattern::kCl100kVariant:
      return kCl100kVariant;
  }
  return {};
}

std::optional<WordPattern> pattern_of_regular_expression(std::string_view expression) noexcept {
  for (const WordPattern pattern : {WordPattern::kGpt2, WordPattern::kCl100k, WordPattern::kCl100kVariant})
    if (expression == regular_expression(pattern)) return pattern;
  return std::nullopt;
}

}  // namespace dragoman::tokenizer
