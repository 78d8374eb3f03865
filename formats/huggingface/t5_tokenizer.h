#pragma once

#include "huggingface/folder.h"
#include "huggingface/t5.h"

#include <string>

#include <dragoman/formats/languages.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::imports {

struct T5Tokenizer {
  tokenizer::TokenizerSpec spec;
  std::int32_t unknown = 0;
  formats::LanguageTable languages;
};

/// Returns the tokenizer of a folder, spiece.model or else tokenizer.json, with the ids with which the model was
/// trained. The pieces are followed by additional tokens (<extra_id_0>) and by the unused rows of the table. Languages
/// are those of MADLAD's pieces <2de>; a tag consists of the tokenizer's ids for it before a text. `source_prefix`,
/// unless empty, precedes every source. Throws Error{kIo or kBadInput} that names the file.
T5Tokenizer read_t5_tokenizer(const HuggingFaceFolder& folder, const T5Architecture& architecture,
                              const std::string& source_prefix);

}  // namespace dragoman::imports
