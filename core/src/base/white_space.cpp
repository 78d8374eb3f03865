#include "dragoman/core/white_space.h"

#include <algorithm>

namespace dragoman::core {
namespace {

/// Returns the offset of the last character of the text, which must not be empty.
std::size_t last_character(std::string_view text) noexcept {
  constexpr std::size_t kLongest = 4;
  std::size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < kLongest && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U)
    --begin;
  return begin;
}

}  // namespace

std::size_t leading_white_space(std::string_view text) noexcept {
  std::size_t end = 0;
  while (end < text.size()) {
    const DecodedCharacter c = decode_utf8(text, end);
    if (!c.valid || !is_white_space(c.code_point)) break;
    end += c.length;
  }
  return end;
}

std::size_t trailing_white_space(std::string_view text) noexcept {
  std::size_t begin = text.size();
  while (begin > 0) {
    const std::size_t before = last_character(text.substr(0, begin));
    const DecodedCharacter c = decode_utf8(text, before);
    if (!c.valid || before + c.length != begin || !is_white_space(c.code_point)) break;
    begin = before;
  }
  return text.size() - begin;
}

std::string_view trim_white_space(std::string_view text) noexcept {
  text.remove_suffix(trailing_white_space(text));
  text.remove_prefix(leading_white_space(text));
  return text;
}

bool is_blank(std::string_view text) noexcept {
  return leading_white_space(text) == text.size();
}

void keep_on_one_line(std::string& text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

}  // namespace dragoman::core
