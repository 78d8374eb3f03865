#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// A character that pieces mean something else by (the word mark, a special token of one character) is written as two
/// where it stands in a text: U+241B and a character that says which, of those from U+2400 to U+2423. U+241B itself is
/// written as two as well, so each that is left begins an escape, and decoding is exact. Escapes are Replace steps of
/// the normaliser, undone in the opposite order by DecoderSteps::escapes, so that other programs read them, too.
inline constexpr std::string_view kEscapeCharacter = "\xE2\x90\x9B";

/// Whether `text` is a character that escapes are spelled with, U+2400 to U+2423.
bool is_escape_character(std::string_view text) noexcept;

/// Lets the definition, a CharacterText with a decoder of steps and no escapes yet, escape the word mark, if `mark`,
/// and its special tokens of one character. Nothing happens if there is nothing to escape. Throws
/// Error{kInvalidArgument} if there are too many such tokens, or one is an escape character.
void add_escapes(BpeDefinition& definition, bool mark);
/// Lets it escape one more special token of one character. Throws Error{kInvalidArgument} if it has no escapes.
void add_escape(BpeDefinition& definition, const std::string& token);

/// Whether texts escape the word mark and nothing else.
bool escapes_only_mark(const BpeDefinition& definition);
/// The definition without escapes: what it escaped reads as a piece.
BpeDefinition without_escapes(BpeDefinition definition);

/// Whether a decoder can undo such a replacement: an escape of a character that is no escape character itself, or
/// that of U+241B.
bool is_escape(const Replacement& undone) noexcept;
/// Undoes escapes in [0, text.size()), but for an unfinished one at the end if `more` text may come. Returns how much
/// of `text` is done, and appends what it became to `out`.
std::size_t undo_escapes(const std::vector<Replacement>& escapes, std::string_view text, bool more, std::string& out);

}  // namespace dragoman::tokenizer
