#pragma once

#include "huggingface/folder.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::imports {

/// A token that a folder lists in addition to the vocabulary of its tokenizer.
struct FolderToken {
  std::string text;
  std::int64_t id = 0;
  /// Whether it is not text. Tokens that are text are matched in sources, as with `add_tokens()` of transformers.
  bool special = true;
};

/// Returns the tokens of `added_tokens_decoder` in tokenizer_config.json and of added_tokens.json, each once. Either
/// file may be missing. Throws Error{kBadInput} that names file and token.
std::vector<FolderToken> added_tokens(const HuggingFaceFolder& folder);

/// Returns whether the folder has added tokens that are text. Only its tokenizer.json defines how to match these.
bool has_text_tokens(const HuggingFaceFolder& folder);

/// Throws Error{kUnsupported} that names the tokens and the remedy if has_text_tokens(). For folders without a
/// tokenizer.json.
void refuse_text_tokens(const HuggingFaceFolder& folder);

/// Returns the special tokens that special_tokens_map.json or tokenizer_config.json list in addition to the standard
/// ones.
std::vector<std::string> additional_tokens(const HuggingFaceFolder& folder);

/// Returns the text at a key of an object, or an empty string if there is none.
std::string text_of(const core::Json& object, const char* key);

/// Returns whether the text looks like a language tag in the vocabularies of mBART ("de_DE") and NLLB ("deu_Latn").
bool is_language_code(std::string_view text);

}  // namespace dragoman::imports
