#pragma once

#include "dragoman/tokenizer/tokenizer_files.h"

#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Reads GPT-2's two files. A piece that no merge produces, such as `<|endoftext|>`, is a special token. Every message
/// begins with `name`. Throws Error{kBadInput, kUnsupported}.
BpeDefinition read_gpt2(std::string_view vocabulary_json, std::string_view merges_text, const std::string& name);

struct Gpt2Files {
  std::string vocabulary_json;
  std::string merges_text;
};
/// Throws Error{kUnsupported}.
Gpt2Files write_gpt2(const BpeDefinition& definition);

/// Reads a rank file of tiktoken. Any two neighbours whose joint bytes are a token may merge, the lowest rank first,
/// and a word that is a token becomes that token. Ids are ranks, which must be consecutive from 0. Throws
/// Error{kBadInput}.
BpeDefinition read_tiktoken(std::string_view text, const std::string& name, const ReadOptions& options);

/// Throws Error{kUnsupported}. Added tokens, which follow the ranks, are not in the file.
std::string write_tiktoken(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
