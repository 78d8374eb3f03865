#pragma once

#include "definition/composed_definition.h"
#include "json_part.h"
#include "tokenizer_json_document.h"

namespace dragoman::tokenizer {

/// Reads a file whose parts may be combined in any way. `top` is the whole file.
ComposedDefinition read_composed(const JsonPart& top, const TokenizerDocument& document);

}  // namespace dragoman::tokenizer
