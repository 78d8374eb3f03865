#pragma once

#include "bpe/bpe_model.h"
#include "bpe/word_cache.h"
#include "pre_tokenizing/pre_tokenizer.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Normalises and splits texts like Tokenizer::encode(), and looks each word up in a cache before merging it. Used for
/// all tokenizers to which the faster BatchedWordsEncoder does not apply.
class PreTokenEncoder final : public TextEncoder {
 public:
  /// Returns whether a word always has the same ids.
  static bool applies_to(const EncodeOptions& options) { return options.mode != EncodingMode::kDropout; }

  /// Both references must outlive the encoder.
  PreTokenEncoder(const PreTokenizer& pre_tokenizer, const BpeModel& model, const EncodeOptions& options)
      : pre_tokenizer_(pre_tokenizer), model_(model), options_(options) {}
  void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override;

 private:
  void append_word(std::string_view word, std::vector<std::int32_t>& ids);

  const PreTokenizer& pre_tokenizer_;
  const BpeModel& model_;
  EncodeOptions options_;
  WordCache cache_;
  WordBuffers buffers_;
};

}  // namespace dragoman::tokenizer
