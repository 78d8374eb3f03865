#pragma once

#include "huggingface/architecture.h"
#include "huggingface/folder.h"

#include <dragoman/formats/languages.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::imports {

/// The tokenizers of a folder, with the ids with which the model was trained, and the tags that it needs.
struct HuggingFaceTokenizers {
  tokenizer::TokenizerSpec joint;  ///< or both others
  tokenizer::TokenizerSpec source;
  tokenizer::TokenizerSpec target;
  std::int32_t unknown = 0;
  formats::LanguageTable languages;
};

/// Throws Error{kIo or kBadInput} that names the file, and Error{kUnsupported} for unsupported tokenizers.
HuggingFaceTokenizers read_tokenizers(const HuggingFaceFolder& folder, const HuggingFaceArchitecture& architecture);

struct Gpt2Tokenizer {
  tokenizer::TokenizerSpec spec;
  std::int32_t unknown = 0;
};

/// Returns GPT-2's tokenizer as used by BART: vocab.json and merges.txt, and the special tokens that the folder adds.
/// Throws Error{kBadInput} that names file and token.
Gpt2Tokenizer read_gpt2_tokenizer(const HuggingFaceFolder& folder);

}  // namespace dragoman::imports
