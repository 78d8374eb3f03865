#pragma once

#include "dragoman/tokenizer/tokenizer.h"

#include <span>
#include <string_view>

#include <dragoman/core/function_ref.h>
#include <dragoman/core/parallel.h>

namespace dragoman::tokenizer {

/// Encodes each text like Tokenizer::encode(). Text i is encoded as line `options.line` + i. The result is the same on
/// any executor.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");     // tokenizer_files.h
///     const std::vector<std::string_view> texts{"Guten Morgen!", "Gute Nacht!"};
///     const auto executor = core::make_executor(4);
///     const EncodedTexts encoded = encode_batch(*tokenizer, texts, *executor);
///     std::cout << encoded[1].size();
///
/// Throws what encode() throws. If several texts cannot be encoded, the error is that of the first one, with the prefix
/// "text N: ", where N counts from 0.
EncodedTexts encode_batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts, core::Executor& executor,
                          const EncodeOptions& options = {});

/// Returns the texts `begin` to `end`. It may block until they are there. Called by any thread, once for each text.
using TextsOfRange = core::FunctionRef<std::span<const std::string_view>(std::size_t begin, std::size_t end)>;

/// Like the function above, for `count` texts that are made while others are encoded. Throws what `texts` throws, too.
EncodedTexts encode_batch(const Tokenizer& tokenizer, std::size_t count, TextsOfRange texts, core::Executor& executor,
                          const EncodeOptions& options = {});

}  // namespace dragoman::tokenizer
