#pragma once

#include "bpe_model.h"
#include "dragoman/tokenizer/tokenizer.h"
#include "text_splitter.h"
#include "word_cache.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// Normalises and cuts each text as Tokenizer::encode() does, and looks its words up before it merges them. For all
/// tokenizers that CachedEncoder, which is faster, does not apply to.
class UnitEncoder final : public TextEncoder {
 public:
  /// Whether a word always gets the same ids.
  static bool applies_to(const EncodeOptions& options) { return options.mode != EncodingMode::kDropout; }

  /// Both must outlive the encoder.
  UnitEncoder(const TextSplitter& splitter, const BpeModel& model, const EncodeOptions& options)
      : splitter_(splitter), model_(model), options_(options) {}
  void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override;

 private:
  void append_word(std::string_view word, std::vector<std::int32_t>& ids);

  const TextSplitter& splitter_;
  const BpeModel& model_;
  EncodeOptions options_;
  WordCache cache_;
  WordBuffers buffers_;
};

}  // namespace dragoman::tokenizer
