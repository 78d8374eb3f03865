#pragma once

#include "dragoman/tokenizer/tokenizer_files.h"

#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// GPT-2's two files. A piece that no merge makes, such as `<|endoftext|>`, is a special token. `name` begins every
/// message. Throws Error{kBadInput, kUnsupported}.
BpeDefinition read_gpt2(std::string_view vocabulary_json, std::string_view merges_text, const std::string& name);

/// Throws Error{kUnsupported}.
struct Gpt2Files {
  std::string vocabulary_json;
  std::string merges_text;
};
Gpt2Files write_gpt2(const BpeDefinition& definition);

/// Rank files of tiktoken: any two neighbours whose joint bytes are a token may merge, the lowest rank first; a word
/// that is a token is that token. Ids are ranks, which must run from 0 without a gap. Throws Error{kBadInput}.
BpeDefinition read_tiktoken(std::string_view text, const std::string& name, const ReadOptions& options);

/// Throws Error{kUnsupported}. Added tokens stand behind the ranks and are not in the file.
std::string write_tiktoken(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
