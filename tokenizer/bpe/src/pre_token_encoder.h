#pragma once

#include "bpe/bpe_model.h"
#include "bpe/word_cache.h"
#include "pre_tokenizing/pre_tokenizer.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Normalises and cuts each text as Tokenizer::encode() does, and looks its words up before it merges them. For all
/// tokenizers that SpacedWordsEncoder, which is faster, does not apply to.
class PreTokenEncoder final : public TextEncoder {
 public:
  /// Whether a word always gets the same ids.
  static bool applies_to(const EncodeOptions& options) { return options.mode != EncodingMode::kDropout; }

  /// Both must outlive the encoder.
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
