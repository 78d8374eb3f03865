#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// The byte that a piece `<0x00>` ... `<0xFF>` stands for.
std::optional<unsigned char> byte_of_piece(const std::string& piece);
/// The name of the piece for a byte.
std::string piece_of_byte(unsigned char byte);
/// Bytes in GPT-2's alphabet, and back: nothing if the text holds a character that is not of the alphabet.
std::string to_byte_alphabet(std::string_view bytes);
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace dragoman::tokenizer
