#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Reads a SentencePiece `.model` of type BPE. Ids are places in the file. `name`
/// begins every message. Throws Error{kBadInput} for a damaged file and Error{kUnsupported}, with the reason, for one
/// whose ids we could not give exactly.
BpeDefinition read_sentencepiece(std::string_view model, const std::string& name);

/// The tokenizer of a SentencePiece `.model` of type BPE or unigram. Throws as read_sentencepiece() does.
std::unique_ptr<Tokenizer> open_sentencepiece(std::string_view model, const std::string& name);

/// What escapes only the word mark is written without that. Throws Error{kUnsupported}.
std::string write_sentencepiece(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
