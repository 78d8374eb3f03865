#include "libretranslate_text.h"

#include "common/answers.h"

#include <array>
#include <utility>

#include <unicode/uchar.h>

#include <dragoman/core/ascii.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::server {
namespace {

/// The line ends of Python's str.splitlines().
bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_emoji(char32_t c) {
  constexpr char32_t kJoiner = 0x200D;
  constexpr char32_t kKeycap = 0x20E3;
  const auto point = static_cast<UChar32>(c);
  const auto has = [&](UProperty property) { return u_hasBinaryProperty(point, property) != 0; };
  return c == kJoiner || c == kKeycap || has(UCHAR_EXTENDED_PICTOGRAPHIC) || has(UCHAR_EMOJI_MODIFIER) ||
         has(UCHAR_REGIONAL_INDICATOR) || has(UCHAR_VARIATION_SELECTOR);
}

/// LibreTranslate's own codes, and what they stand for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOwnCodes{{{"pb", "pt-br"}, {"zt", "zh-hant"}}};

}  // namespace

std::string with_plain_line_ends(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, at);
    std::size_t next = at + c.length;
    if (is_line_end(c.code_point)) {
      if (c.code_point == U'\r' && next < text.size() && text[next] == '\n') ++next;
      if (next < text.size()) result += '\n';
    } else {
      result += text.substr(at, c.length);
    }
    at = next;
  }
  return result;
}

bool is_untranslatable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, at);
    if (!is_emoji(c.code_point) && !core::is_white_space(c.code_point)) return false;
    at += c.length;
  }
  return true;
}

std::string from_libretranslate_code(std::string_view code) {
  const std::string low = core::ascii_lower(code);
  for (const auto& [own, meant] : kOwnCodes)
    if (low == own) return std::string(meant);
  return low;
}

std::string to_libretranslate_code(const std::string& code) {
  const std::string low = core::ascii_lower(code);
  if (low == "zh") return "zh-Hans";
  if (low == "zt" || low == "zh-tw") return "zh-Hant";
  if (low == "pb") return "pt-BR";
  return code;
}

}  // namespace dragoman::server
