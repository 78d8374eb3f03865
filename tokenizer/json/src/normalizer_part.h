#pragma once

#include "json_part.h"

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Returns the steps of the part `normalizer`, with the steps of sequences concatenated.
NormalizerSteps read_normalizer(const JsonPart& part);

}  // namespace dragoman::tokenizer
