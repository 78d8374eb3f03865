#pragma once

#include "json_part.h"
#include "pieces_part.h"
#include "tokenizer_json_document.h"

#include <string>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// What `model` and `added_tokens` say.
struct ModelPart {
  BpeDefinition definition;  ///< all but its text and its post-processor
  std::vector<AddedPiece> added;
  std::string suffix;  ///< of the end of a word, or empty
  bool byte_fallback = false;
};

/// "BPE" and the like; files of old versions do not name that one.
std::string model_type(const JsonPart& model);

/// `top` is the whole file.
ModelPart read_model(const JsonPart& top, const TokenizerDocument& document);

}  // namespace dragoman::tokenizer
