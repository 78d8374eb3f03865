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

/// The tokenizer of a folder, spiece.model or else tokenizer.json, with the ids that the model was trained with: tokens
/// that stand beside its pieces (<extra_id_0>), and the rows of the table that nothing has, are behind them. Languages
/// are those of MADLAD's pieces <2de>; a tag is what the tokenizer makes of it in front of a text. `source_prefix`,
/// unless empty, stands in front of every source. Error{kIo or kBadInput} naming the file.
T5Tokenizer read_t5_tokenizer(const HuggingFaceFolder& folder, const T5Architecture& architecture,
                              const std::string& source_prefix);

}  // namespace dragoman::imports
