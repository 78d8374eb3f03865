#include "references.h"

#include "reference_names.h"

#include <algorithm>
#include <charconv>

#include <dragoman/core/hash_tables.h>
#include <dragoman/core/utf8.h>

namespace dragoman::markup {
namespace {

struct NamedReference {
  std::string text;
  bool needs_semicolon = true;
};

using NamedReferences = core::TextViewMap<NamedReference>;

constexpr std::size_t kLongestReference = 32;

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char32_t parse_hex(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

NamedReferences parse_names(std::string_view entries) {
  NamedReferences names;
  while (!entries.empty()) {
    const std::string_view entry = entries.substr(0, entries.find(' '));
    entries.remove_prefix(std::min(entry.size() + 1, entries.size()));
    const std::size_t equals = entry.find('=');
    std::string_view name = entry.substr(0, equals);
    std::string_view codes = entry.substr(equals + 1);
    NamedReference reference;
    reference.needs_semicolon = !name.ends_with('?');
    if (!reference.needs_semicolon) name.remove_suffix(1);
    for (;;) {
      const std::size_t plus = codes.find('+');
      core::append_utf8(reference.text, parse_hex(codes.substr(0, plus)));
      if (plus == std::string_view::npos) break;
      codes.remove_prefix(plus + 1);
    }
    names.emplace(name, std::move(reference));
  }
  return names;
}

const NamedReference* find_name(std::string_view name) {
  static const NamedReferences names = parse_names(reference_names());
  const auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

/// Numbers 0x80 to 0x9F stand for the characters of windows-1252 (HTML standard, "numeric character reference end
/// state"). 0: the number stands for itself.
constexpr char32_t kWindows1252[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                       0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                       0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                       0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

char32_t character_of(std::uint32_t number) {
  if (number == 0 || number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) return core::kReplacementCharacter;
  if (number >= 0x80 && number < 0xA0 && kWindows1252[number - 0x80] != 0) return kWindows1252[number - 0x80];
  return number;
}

}  // namespace

std::size_t ReferenceDecoder::decode(std::string_view source, std::size_t at) {
  if (at + 1 >= source.size()) return 0;
  return source[at + 1] == '#' ? decode_number(source, at) : decode_name(source, at);
}

std::size_t ReferenceDecoder::decode_number(std::string_view source, std::size_t at) {
  std::size_t begin = at + 2;
  const bool hex = begin < source.size() && (source[begin] == 'x' || source[begin] == 'X');
  if (hex) ++begin;
  std::size_t end = begin;
  std::uint32_t number = 0;
  for (; end < source.size(); ++end) {
    std::uint32_t digit = 0;
    if (std::from_chars(&source[end], &source[end] + 1, digit, hex ? 16 : 10).ec != std::errc()) break;
    number = std::min<std::uint32_t>(number * (hex ? 16 : 10) + digit, 0x110000);
  }
  if (end == begin) return 0;
  text_.clear();
  core::append_utf8(text_, character_of(number));
  if (end < source.size() && source[end] == ';') ++end;
  return end - at;
}

/// The longest name wins. Names without a semicolon may be followed by letters, as in `&notit;`.
std::size_t ReferenceDecoder::decode_name(std::string_view source, std::size_t at) {
  std::size_t end = at + 1;
  while (end < source.size() && end - at <= kLongestReference && is_name_character(source[end])) ++end;
  const bool closed = end < source.size() && source[end] == ';';
  for (std::size_t size = end - at - 1; size > 0; --size) {
    const NamedReference* found = find_name(source.substr(at + 1, size));
    const bool with_semicolon = closed && at + 1 + size == end;
    if (found == nullptr || (found->needs_semicolon && !with_semicolon)) continue;
    text_ = found->text;
    return size + (with_semicolon ? 2 : 1);
  }
  return 0;
}

void append_encoded(std::string& out, std::string_view text, char quote) {
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == quote && quote != 0)
      out += quote == '"' ? "&quot;" : "&#39;";
    else
      out += c;
  }
}

}  // namespace dragoman::markup
