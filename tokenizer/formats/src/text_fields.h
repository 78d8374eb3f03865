#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

/// Returns `text` without any of `characters` at its ends.
inline std::string_view strip(std::string_view text, std::string_view characters) {
  const std::size_t begin = text.find_first_not_of(characters);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(characters) - begin + 1);
}

/// Returns the parts between occurrences of `separator`, which are one more than the occurrences.
inline std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Parses the whole text as a decimal number.
inline std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Editors on Windows add a byte order mark to text. A SentencePiece model cannot begin with these bytes.
inline std::string without_byte_order_mark(std::string content) {
  if (content.starts_with(core::kByteOrderMark)) content.erase(0, core::kByteOrderMark.size());
  return content;
}

}  // namespace dragoman::tokenizer
