#pragma once

#include "dragoman/pipeline/unknown_dictionary.h"

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/text_range.h>
#include <dragoman/decoding/hypothesis.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// A text that was translated, and the bytes of it that the source tokens stand for. Tags stand before these tokens,
/// and the closing end after them.
struct SourceText {
  std::string text{};
  std::size_t tags = 0;
  std::vector<core::TextRange> tokens{};
};

/// Returns the text of a hypothesis in which each unknown token is replaced by the source word that it attends to, with
/// spaces around it; or by the translation of that word, if a dictionary has one. The word is the source's own text,
/// whatever the tokenizer makes of it; word boundaries follow Unicode Standard Annex 29. The dictionary is also
/// searched for the word as `source_tokenizer` normalises it. Error{kInvalidArgument} if the hypothesis has no
/// alignment.
std::string decode_replacing_unknown(const tokenizer::Tokenizer& target_tokenizer,
                                     const decoding::Hypothesis& hypothesis, std::int32_t unknown,
                                     const tokenizer::Tokenizer& source_tokenizer, const SourceText& source,
                                     const UnknownDictionary* dictionary = nullptr);

}  // namespace dragoman::pipeline
