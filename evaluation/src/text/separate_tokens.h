#pragma once

#include <string>
#include <string_view>

#include <dragoman/evaluation/bleu_tokenizer.h>

namespace dragoman::evaluation {

/// The segment with white space between its tokens: split() it to have them without a copy each.
std::string separate_tokens(std::string_view segment, BleuTokenizer tokenizer);

}  // namespace dragoman::evaluation
