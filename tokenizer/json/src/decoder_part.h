#pragma once

#include "json_part.h"

#include <optional>
#include <string>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The contents of `decoder`. The permitted combinations depend on other parts of the file.
struct DecoderPart {
  DecoderSteps steps = {};
  bool fuses = false;
  bool byte_level = false;
  std::string suffix = {};  ///< of BPEDecoder, or empty
  std::optional<MetaspaceDecoder> metaspace = {};

  bool has_steps() const { return fuses || !steps.replacements.empty() || steps.byte_fallback; }
};

/// `definition` must contain the added tokens.
DecoderPart read_decoder(const JsonPart& part, const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
