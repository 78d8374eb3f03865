#include "dragoman/core/quote.h"

#include "dragoman/core/utf8.h"

#include <algorithm>

#include <fmt/core.h>

namespace dragoman::core {
namespace {

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7F;
}

/// Returns whether the character is a line or paragraph separator, or a mark that can make text look different from
/// what it is (Unicode Technical Report 36, section 2.1).
bool misleads(char32_t c) {
  return c == 0x061C || (c >= 0x200E && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
         c == 0xFEFF;
}

void append_escaped(std::string& out, std::string_view bytes, const DecodedCharacter& character) {
  if (character.valid && character.code_point == '\n') {
    out += "\\n";
  } else if (character.valid && character.code_point == '\r') {
    out += "\\r";
  } else if (character.valid && character.code_point == '\t') {
    out += "\\t";
  } else if (character.valid && character.code_point >= 0x80) {
    out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character.code_point));
  } else {
    for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  constexpr std::string_view kCut = "...";
  std::string shown;
  std::size_t fits = 0;  // length of the part that is kept if the text must be cut
  for (std::size_t i = 0; i < text.size();) {
    // Most text is plain and is copied in runs, which end one character beyond the limit.
    const std::size_t room = longest - shown.size();
    const std::string_view rest = text.substr(i, room < text.size() ? room + 1 : text.npos);
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_plain) - rest.begin());
    if (plain > 0) {
      const bool may_fit = shown.size() + kCut.size() <= longest;
      shown += rest.substr(0, plain);
      i += plain;
      if (may_fit) fits = std::min(shown.size(), longest - kCut.size());
    } else {
      const DecodedCharacter character = decode_utf8(text, i);
      const std::string_view bytes = text.substr(i, character.length);
      if (!character.valid || is_control(character.code_point) || misleads(character.code_point))
        append_escaped(shown, bytes, character);
      else
        shown += bytes;
      i += character.length;
      if (shown.size() + kCut.size() <= longest) fits = shown.size();
    }
    if (shown.size() > longest) {
      shown.resize(fits);
      return shown.append(kCut.substr(0, std::min(longest, kCut.size())));
    }
  }
  return shown;
}

std::string quote(std::string_view text, std::size_t longest) {
  return fmt::format("'{}'", printable(text, longest));
}

}  // namespace dragoman::core
