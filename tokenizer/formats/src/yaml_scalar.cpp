#include "yaml_scalar.h"

#include "text_fields.h"

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::string_view kBlank = " \t\r";

/// What stands behind the backslash, and what it means.
constexpr std::pair<char, std::string_view> kEscapes[] = {
    {'"', "\""},           {'\\', "\\"},         {'/', "/"},       {' ', " "},        {'n', "\n"},
    {'t', "\t"},           {'r', "\r"},          {'b', "\b"},      {'f', "\f"},       {'a', "\a"},
    {'v', "\v"},           {'e', "\x1B"},        {'0', {"\0", 1}}, {'_', "\xC2\xA0"}, {'N', "\xC2\x85"},
    {'L', "\xE2\x80\xA8"}, {'P', "\xE2\x80\xA9"}};

/// \x41, \u0041, \U00000041.
bool read_code_point(std::string_view text, std::size_t digits, std::string& out) {
  if (text.size() < digits) return false;
  std::uint32_t code = 0;
  const char* end = text.data() + digits;
  const auto [stop, error] = std::from_chars(text.data(), end, code, 16);
  if (error != std::errc() || stop != end || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  core::append_utf8(out, static_cast<char32_t>(code));
  return true;
}

/// Reads one escape, whose backslash has been taken, and takes it off the text.
bool read_escape(std::string_view& text, std::string& out) {
  if (text.empty()) return false;
  const char letter = text[0];
  text.remove_prefix(1);
  for (const auto& [known, meaning] : kEscapes)
    if (known == letter) {
      out += meaning;
      return true;
    }
  const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (digits == 0 || !read_code_point(text, digits, out)) return false;
  text.remove_prefix(digits);
  return true;
}

/// Reads a key whose opening quote has been taken, and takes it off the text with its closing quote.
bool read_quoted(std::string_view& text, char quote, std::string& out) {
  while (!text.empty()) {
    const char c = text[0];
    text.remove_prefix(1);
    if (c == quote && (quote == '"' || !text.starts_with(quote))) return true;
    if (c == quote) text.remove_prefix(1);  // '' is a quote inside single quotes
    if (c == '\\' && quote == '"') {
      if (!read_escape(text, out)) return false;
    } else {
      out += c;
    }
  }
  return false;
}

}  // namespace

std::optional<YamlEntry> parse_yaml_entry(std::string_view line) {
  line = strip(line, kBlank);
  YamlEntry entry;
  if (line.starts_with('"') || line.starts_with('\'')) {
    const char quote = line[0];
    line.remove_prefix(1);
    if (!read_quoted(line, quote, entry.key)) return std::nullopt;
    line = strip(line, kBlank);
    if (!line.starts_with(": ")) return std::nullopt;
    line.remove_prefix(1);
  } else {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return std::nullopt;
    entry.key = strip(line.substr(0, colon), kBlank);
    line.remove_prefix(colon + 1);
  }
  entry.value = strip(line, kBlank);
  return entry;
}

}  // namespace dragoman::tokenizer
