#pragma once

#include "dragoman/tokenizer/tokenizer_files.h"

#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Reads codes of subword-nmt or, with a count after each merge, of fastBPE. The files do not list pieces. Ids are
/// assigned in this order: `<unk>`; each character of the merges without and with the end of a word, by code point;
/// merged pieces in order. Every message begins with `name`. Throws Error{kBadInput, kUnsupported, kIo}.
BpeDefinition read_codes(std::string_view text, FileKind kind, const std::string& name, const ReadOptions& options);

/// Returns codes of subword-nmt, in version 0.1 if the end of a word is a separate symbol. Throws Error{kUnsupported}.
std::string write_codes(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
