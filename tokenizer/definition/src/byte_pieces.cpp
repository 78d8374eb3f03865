#include "dragoman/tokenizer/byte_pieces.h"

#include <array>

#include <fmt/format.h>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

constexpr bool prints_as_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Printable bytes represent themselves (as Latin-1). The others become U+0100, U+0101, ... in order.
constexpr std::array<char32_t, 256> make_byte_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) alphabet[byte] = prints_as_itself(byte) ? byte : next++;
  return alphabet;
}
constexpr auto kByteAlphabet = make_byte_alphabet();

int byte_of_character(char32_t character) {
  if (character < 0x100) return prints_as_itself(static_cast<unsigned>(character)) ? static_cast<int>(character) : -1;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (kByteAlphabet[byte] == character) return static_cast<int>(byte);
  return -1;
}

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) core::append_utf8(text, kByteAlphabet[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    const int byte = c.valid ? byte_of_character(c.code_point) : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    i += c.length;
  }
  return bytes;
}

std::optional<unsigned char> byte_of_piece(const std::string& piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  const int high = hexadecimal(piece[3]);
  const int low = hexadecimal(piece[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<unsigned char>(high * 16 + low);
}

std::string piece_of_byte(unsigned char byte) {
  return fmt::format("<0x{:02X}>", byte);
}

}  // namespace dragoman::tokenizer
