#include "text.h"

#include <limits>

#include <unicode/bytestream.h>
#include <unicode/casemap.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::evaluation {

bool is_space(char32_t c) noexcept {
  return core::is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

namespace {

bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

std::string_view trim_right(std::string_view text) noexcept {
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && continues_character(text[last])) --last;
    if (!is_space(core::decode_utf8(text, last).code_point)) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

std::string_view trim_left(std::string_view text) noexcept {
  while (!text.empty()) {
    const core::DecodedCharacter first = core::decode_utf8(text, 0);
    if (!is_space(first.code_point)) break;
    text.remove_prefix(first.length);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto [c, length, valid] = core::decode_utf8(text, i);
    if (is_space(c)) {
      if (i > begin) pieces.push_back(text.substr(begin, i - begin));
      begin = i + length;
    }
    i += length;
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

std::u32string decode(std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto [c, length, valid] = core::decode_utf8(text, i);
    characters.push_back(c);
    i += length;
  }
  return characters;
}

std::string encode(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (const char32_t c : text) core::append_utf8(bytes, c);
  return bytes;
}

std::string lower_case(std::string_view text) {
  core::require(text.size() <= std::numeric_limits<std::int32_t>::max(), core::ErrorCode::kUnsupported,
                "a segment of {} bytes is too long to be lower-cased; split it, or evaluate with regard to case",
                text.size());
  std::string lower;
  icu::StringByteSink<std::string> sink(&lower, static_cast<std::int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr,
                            status);
  core::require(U_SUCCESS(status) != 0, core::ErrorCode::kInternal, "ICU cannot lower-case a segment: {}",
                u_errorName(status));
  return lower;
}

}  // namespace dragoman::evaluation
