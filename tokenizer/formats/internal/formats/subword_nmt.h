#pragma once

#include "dragoman/tokenizer/tokenizer_files.h"

#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Reads codes of subword-nmt or, with a count behind each merge, of fastBPE. The files list no pieces: ids are
/// `<unk>`, then each character of the merges without and with the end of a word, by code point, then merged pieces in
/// order. `name` begins every message. Throws Error{kBadInput, kUnsupported, kIo}.
BpeDefinition read_codes(std::string_view text, FileKind kind, const std::string& name, const ReadOptions& options);

/// Codes of subword-nmt; version 0.1 if the end of a word is a symbol of its own. Throws Error{kUnsupported}.
std::string write_codes(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
