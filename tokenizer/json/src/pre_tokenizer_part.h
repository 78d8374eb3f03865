#pragma once

#include "json_part.h"

#include <optional>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The definition of words in `pre_tokenizer`. The permitted combinations depend on other parts of the file.
struct PreTokenizerPart {
  PreTokenizerDefinition words = {};
  InnerCuts inner = {};
  std::optional<ByteLevelText> byte_level = {};  ///< without its normaliser
};

PreTokenizerPart read_pre_tokenizer(const JsonPart& part);

}  // namespace dragoman::tokenizer
