#include "western_punctuation.h"

#include "rewrite.h"

namespace dragoman::evaluation {
namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_not_digit(char c) {
  return !is_digit(c);
}
constexpr bool is_period_or_comma(char c) {
  return c == '.' || c == ',';
}
constexpr bool is_dash(char c) {
  return c == '-';
}

constexpr bool is_western_punctuation(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

}  // namespace

std::string pad_western_punctuation(const std::string& text) {
  return pad(text, is_western_punctuation);
}

std::string pad_numeric_punctuation(const std::string& text) {
  const std::string after_other = pad_second(text, is_not_digit, is_period_or_comma);
  const std::string before_other = pad_first(after_other, is_period_or_comma, is_not_digit);
  return pad_second(before_other, is_digit, is_dash);
}

void resolve_entities(std::string& text) {
  if (text.find('&') == std::string::npos) return;
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
}

}  // namespace dragoman::evaluation
