#pragma once

#include <filesystem>
#include <string>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {

/// Reads the vocab.json and the merges.txt of GPT-2's tokenizer. `content` is that of `path`, which is one of the two.
BpeDefinition read_gpt2_files(const std::filesystem::path& path, const std::string& content,
                              const ReadOptions& options);

/// Writes both, the vocab.json to `path`. Throws Error{kInvalidArgument} as write_tokenizer_file() does.
void write_gpt2_files(const BpeDefinition& definition, const std::filesystem::path& path);

}  // namespace dragoman::tokenizer
