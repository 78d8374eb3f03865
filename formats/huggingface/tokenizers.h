#pragma once

#include "huggingface/architecture.h"
#include "huggingface/folder.h"

#include <dragoman/formats/languages.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::imports {

/// The tokenizers of a folder with the ids that the model was trained with, and the tags that it wants.
struct HuggingFaceTokenizers {
  tokenizer::TokenizerSpec joint;  ///< or both of the others
  tokenizer::TokenizerSpec source;
  tokenizer::TokenizerSpec target;
  std::int32_t unknown = 0;
  formats::LanguageTable languages;
};

/// Error{kIo or kBadInput} naming the file; Error{kUnsupported} for what the tokenizers here cannot do.
HuggingFaceTokenizers read_tokenizers(const HuggingFaceFolder& folder, const HuggingFaceArchitecture& architecture);

struct Gpt2Tokenizer {
  tokenizer::TokenizerSpec spec;
  std::int32_t unknown = 0;
};

/// GPT-2's tokenizer as BART has it: vocab.json and merges.txt, and the special tokens that the folder adds. Throws
/// Error{kBadInput}, naming file and token.
Gpt2Tokenizer read_gpt2_tokenizer(const HuggingFaceFolder& folder);

}  // namespace dragoman::imports
