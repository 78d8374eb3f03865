#include "dragoman/core/utf8.h"

namespace dragoman::core {
namespace {

struct ByteRange {
  unsigned char low;
  unsigned char high;
};

/// Returns the permitted range of the second byte (Unicode 15, table 3-7).
constexpr ByteRange second_byte_range(unsigned char first) noexcept {
  switch (first) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

}  // namespace

DecodedCharacter decode_utf8(std::string_view text, std::size_t offset) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = utf8_length(first);
  if (length == 1) return {kReplacementCharacter, 1, false};
  const std::size_t available = text.size() - offset;
  const ByteRange range = second_byte_range(first);
  char32_t code_point = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const ByteRange allowed = i == 1 ? range : ByteRange{0x80, 0xBF};
    if (i >= available || byte(i) < allowed.low || byte(i) > allowed.high) return {kReplacementCharacter, i, false};
    code_point = (code_point << 6) | (byte(i) & 0x3FU);
  }
  return {code_point, length, true};
}

std::size_t find_invalid_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_utf8(text, i);
    if (!character.valid) return i;
    i += character.length;
  }
  return std::string_view::npos;
}

std::size_t replace_invalid_utf8(std::string& text) {
  std::size_t position = find_invalid_utf8(text);
  if (position == std::string_view::npos) return 0;
  std::string repaired = text.substr(0, position);
  std::size_t replaced = 0;
  while (position < text.size()) {
    const DecodedCharacter character = decode_utf8(text, position);
    append_utf8(repaired, character.code_point);
    replaced += character.valid ? 0 : 1;
    position += character.length;
  }
  text = std::move(repaired);
  return replaced;
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace dragoman::core
