#pragma once

#include "dragoman/pipeline/unknown_dictionary.h"

#include <cstdint>
#include <span>
#include <string>

#include <dragoman/decoding/hypothesis.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// The text of a hypothesis in which the source word that an unknown token attends to takes its place, with blanks
/// around it; or what a dictionary has for that word, if anything. `source` are the tokens that were translated. A word
/// is what Unicode Standard Annex 29 says, whatever
/// pieces it is made of. Error{kInvalidArgument} if the hypothesis has no alignment.
std::string decode_replacing_unknown(const tokenizer::Tokenizer& target_tokenizer,
                                     const decoding::Hypothesis& hypothesis, std::int32_t unknown,
                                     const tokenizer::Tokenizer& source_tokenizer, std::span<const std::int32_t> source,
                                     const UnknownDictionary* dictionary = nullptr);

}  // namespace dragoman::pipeline
