#pragma once

#include <string>
#include <string_view>

#include <dragoman/evaluation/bleu_tokenizer.h>

namespace dragoman::evaluation {

/// Returns the segment with whitespace between its tokens. Use split() to get the tokens without copying each one.
std::string separate_tokens(std::string_view segment, BleuTokenizer tokenizer);

}  // namespace dragoman::evaluation
