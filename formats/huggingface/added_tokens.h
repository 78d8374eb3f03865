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
  /// Whether it is no text. Tokens that are text are cut out of sources, as `add_tokens()` of transformers has it.
  bool special = true;
};

/// The tokens of `added_tokens_decoder` in tokenizer_config.json and of added_tokens.json, each once; either may be
/// missing. Error{kBadInput} naming file and token.
std::vector<FolderToken> added_tokens(const HuggingFaceFolder& folder);

/// Whether the folder has added tokens that are text, which only its tokenizer.json knows how to cut out.
bool has_text_tokens(const HuggingFaceFolder& folder);

/// Throws Error{kUnsupported} that names the tokens and the remedy, if has_text_tokens(). It is for folders without a
/// tokenizer.json.
void refuse_text_tokens(const HuggingFaceFolder& folder);

/// The special tokens that special_tokens_map.json or tokenizer_config.json list in addition to the standard ones.
std::vector<std::string> additional_tokens(const HuggingFaceFolder& folder);

/// The text that an object has under a key; empty: none.
std::string text_of(const core::Json& object, const char* key);

/// "de_DE", "deu_Latn": what the tags of languages look like in mBART's and NLLB's vocabularies.
bool is_language_code(std::string_view text);

}  // namespace dragoman::imports
