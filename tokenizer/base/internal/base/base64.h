#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Encodes as in RFC 4648, section 4, with padding.
inline std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= group.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

inline int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/// Returns nullopt unless the text is exactly the result of to_base64().
inline std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  if (text.size() % 4 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    unsigned bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const int digit = text[i + k] == '=' ? 0 : base64_digit(text[i + k]);
      if (digit < 0) return std::nullopt;
      bits = bits << 6 | static_cast<unsigned>(digit);
    }
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 255);
  }
  if (text.ends_with('=')) bytes.pop_back();
  if (text.ends_with("==")) bytes.pop_back();
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace dragoman::tokenizer
