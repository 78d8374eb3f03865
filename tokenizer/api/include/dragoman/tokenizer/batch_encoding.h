#pragma once

#include "dragoman/tokenizer/tokenizer.h"

#include <span>
#include <string_view>

#include <dragoman/core/parallel.h>

namespace dragoman::tokenizer {

/// Encodes each text as Tokenizer::encode() does, the first as line `options.line` and so on. The result is the same on
/// any executor. Throws what encode() throws: of several texts that cannot be encoded the error of the first, with
/// "text N: " in front, counted from 0.
EncodedTexts encode_batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts, core::Executor& executor,
                          const EncodeOptions& options = {});

}  // namespace dragoman::tokenizer
