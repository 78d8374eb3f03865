#pragma once

#include "json_part.h"

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The steps of the part `normalizer`, those of sequences end to end.
NormalizerSteps read_normalizer(const JsonPart& part);

}  // namespace dragoman::tokenizer
