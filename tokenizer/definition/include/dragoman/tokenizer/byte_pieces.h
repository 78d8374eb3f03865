#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Returns the byte that a piece `<0x00>` ... `<0xFF>` represents, or nullopt for any other piece. The functions of
/// this header are pure.
///
///     const std::string piece = piece_of_byte(0x0A);       // "<0x0A>"
///     const std::string text = to_byte_alphabet(" Haus");  // "ĠHaus"
std::optional<unsigned char> byte_of_piece(const std::string& piece);
/// Returns the name of the piece for a byte.
std::string piece_of_byte(unsigned char byte);
/// Converts bytes to GPT-2's alphabet, and back. from_byte_alphabet() returns nullopt if a character is not in the
/// alphabet.
std::string to_byte_alphabet(std::string_view bytes);
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace dragoman::tokenizer
