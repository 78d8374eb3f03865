#pragma once

#include "huggingface/architecture.h"
#include "huggingface/folder.h"

#include <dragoman/formats/languages.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::imports {

/// The tokenizers of a folder with the ids that the model was trained with, and the tags that it wants.
struct HuggingFaceTokenizers {
  formats::TokenizerContent joint;  ///< or both of the others
  formats::TokenizerContent source;
  formats::TokenizerContent target;
  std::int32_t unknown = 0;
  formats::LanguageTable languages;
};

/// Error{kIo or kBadInput} naming the file; Error{kUnsupported} for what the tokenizers here cannot do.
HuggingFaceTokenizers read_tokenizers(const HuggingFaceFolder& folder, const HuggingFaceArchitecture& architecture);

}  // namespace dragoman::imports
