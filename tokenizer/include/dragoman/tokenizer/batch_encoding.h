#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dragoman/core/parallel.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// The ids of several texts, one behind the other: those of text i are ids[offsets[i]] up to ids[offsets[i + 1]].
struct EncodedTexts {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> offsets = {0};  ///< one more than there are texts

  std::size_t size() const noexcept { return offsets.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t text) const {
    return std::span(ids).subspan(offsets[text], offsets[text + 1] - offsets[text]);
  }
};

/// Encodes each text as Tokenizer::encode() does, the first as line `options.line` and so on. The result is the same on
/// any executor. Throws what encode() throws: of several texts that cannot be encoded the error of the first, with
/// "text N: " in front, counted from 0.
EncodedTexts encode_batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts, core::Executor& executor,
                          const EncodeOptions& options = {});

}  // namespace dragoman::tokenizer
