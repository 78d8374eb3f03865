#include "python_text.h"

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

bool is_python_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool holds_python_space(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    if (is_python_space(c.code_point)) return true;
    i += c.length;
  }
  return false;
}

bool ends_python_line(char32_t c) noexcept {
  return c == 0x0B || c == 0x0C || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace dragoman::tokenizer
