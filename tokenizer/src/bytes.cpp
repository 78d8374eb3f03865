#include "dragoman/tokenizer/bpe_definition.h"

#include <fmt/format.h>

namespace dragoman::tokenizer {
namespace {

int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

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
