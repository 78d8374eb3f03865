#pragma once

#include "pattern_scanner.h"
#include "regex/parsed_pattern.h"

namespace dragoman::tokenizer {

/// Reads a character, an escape for a character or a class, `.`, or a class in brackets. Adds it to the atoms and
/// returns the number of its class.
std::uint32_t read_atom(PatternScanner& in, ParsedPattern& parsed, bool in_look_around);
/// Adds a class that `text` stands for, unless it is shared and known, and returns its number.
std::uint32_t add_class(ParsedPattern& parsed, std::string_view text, const icu::UnicodeSet& characters);

}  // namespace dragoman::tokenizer
