#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// The first character of escape sequences. Characters with a special meaning in pieces (the word mark, a special token
/// of one character) are escaped in texts: they become U+241B and one of the characters U+2400 to U+2423. U+241B itself
/// is escaped as well. Each remaining U+241B therefore starts an escape sequence, and decoding is exact. Escapes are
/// Replace steps of the normaliser, and DecoderSteps::escapes reverses them in the opposite order, so that other
/// programs support them too.
inline constexpr std::string_view kEscapeCharacter = "\xE2\x90\x9B";

/// Returns whether `text` is one of the characters of escape sequences, U+2400 to U+2423.
bool is_escape_character(std::string_view text) noexcept;

/// Adds escapes to the definition for the word mark, if `mark` is set, and for its special tokens of one character. The
/// definition must be a CharacterText with a decoder of steps and without escapes. If there is nothing to escape, it is
/// unchanged. Throws Error{kInvalidArgument} if there are too many such tokens, or if one is an escape character.
void add_escapes(BpeDefinition& definition, bool mark);
/// Adds an escape for one more special token of one character. Throws Error{kInvalidArgument} if there are no escapes
/// yet.
void add_escape(BpeDefinition& definition, const std::string& token);

/// Returns whether texts escape the word mark and nothing else.
bool escapes_only_mark(const BpeDefinition& definition);
/// Returns the definition without escapes. Characters that it escaped are then read as pieces.
BpeDefinition without_escapes(BpeDefinition definition);

/// Returns whether a decoder can reverse such a replacement: it is the escape of U+241B, or of a character that is not
/// an escape character.
bool is_escape(const Replacement& undone) noexcept;
/// Reverses the escapes in `text` and appends the result to `out`. Returns the number of bytes processed. If `more`
/// text may follow, an incomplete escape at the end is not processed.
std::size_t undo_escapes(const std::vector<Replacement>& escapes, std::string_view text, bool more, std::string& out);

}  // namespace dragoman::tokenizer
