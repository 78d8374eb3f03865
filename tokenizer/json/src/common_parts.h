#pragma once

#include "json_part.h"

#include <cstddef>
#include <string>

#include <dragoman/tokenizer/bpe_definition.h>

/// Elements that several parts of a `tokenizer.json` share.
namespace dragoman::tokenizer {

/// The maximum number of steps of a normalizer or decoder.
inline constexpr std::size_t kMaxSteps = 64;

/// Returns whether the pattern of a Split or Replace is {"Regex": ...}.
bool has_regular_expression(const JsonPart& part);
/// Returns the text of a pattern {"String": text}. Throws for regular expressions.
std::string string_pattern(const JsonPart& part);

/// Throws for keys that a ByteLevel does not have.
void allow_byte_level_keys(const JsonPart& part);
/// Returns the scheme of a Metaspace. Checks all of its keys.
PrependScheme prepend_scheme(const JsonPart& part);

}  // namespace dragoman::tokenizer
