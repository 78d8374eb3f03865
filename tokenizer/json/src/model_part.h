#pragma once

#include "json_part.h"
#include "pieces_part.h"
#include "tokenizer_json_document.h"

#include <string>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The contents of `model` and `added_tokens`.
struct ModelPart {
  BpeDefinition definition;  ///< everything except its text and its post-processor
  std::vector<AddedPiece> added;
  std::string suffix;  ///< of the end of a word, or empty
  bool byte_fallback = false;
};

/// Returns the type of a model, such as "BPE". Files of old versions do not name BPE.
std::string model_type(const JsonPart& model);

/// `top` is the whole file.
ModelPart read_model(const JsonPart& top, const TokenizerDocument& document);

}  // namespace dragoman::tokenizer
