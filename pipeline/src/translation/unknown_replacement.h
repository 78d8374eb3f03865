#pragma once

#include "dragoman/pipeline/unknown_dictionary.h"

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/text_range.h>
#include <dragoman/decoding/hypothesis.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// A source text, and the bytes that the source tokens cover. Tags precede these tokens, and the closing end follows
/// them.
struct SourceText {
  std::string text{};
  std::size_t tags = 0;
  std::vector<core::TextRange> tokens{};
};

/// Returns the text of a hypothesis in which each unknown token is replaced by the source word that it attends to, or
/// by the translation of that word in the dictionary, with spaces around it. The word is the original source text, not
/// its tokenised form; word boundaries follow Unicode Standard Annex 29. The dictionary is also searched for the word
/// as `source_tokenizer` normalises it. Error{kInvalidArgument} if the hypothesis has no alignment.
std::string decode_replacing_unknown(const tokenizer::Tokenizer& target_tokenizer,
                                     const decoding::Hypothesis& hypothesis, std::int32_t unknown,
                                     const tokenizer::Tokenizer& source_tokenizer, const SourceText& source,
                                     const UnknownDictionary* dictionary = nullptr);

}  // namespace dragoman::pipeline
