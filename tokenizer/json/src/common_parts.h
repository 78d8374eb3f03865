#pragma once

#include "json_part.h"

#include <cstddef>
#include <string>

#include <dragoman/tokenizer/bpe_definition.h>

/// What several parts of a `tokenizer.json` have inside.
namespace dragoman::tokenizer {

/// Of a normalizer or a decoder.
inline constexpr std::size_t kMaxSteps = 64;

/// Whether the pattern of a Split or Replace is {"Regex": ...}.
bool has_regular_expression(const JsonPart& part);
/// The text of a pattern {"String": text}; regular expressions are refused.
std::string string_pattern(const JsonPart& part);

/// Refuses what a ByteLevel has not.
void allow_byte_level_keys(const JsonPart& part);
/// That of a Metaspace, all of whose keys are checked.
PrependScheme prepend_scheme(const JsonPart& part);

}  // namespace dragoman::tokenizer
