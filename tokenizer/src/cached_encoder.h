#pragma once

#include "bpe_model.h"
#include "dragoman/tokenizer/tokenizer.h"
#include "text_splitter.h"
#include "word_cache.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// Encodes the words between spaces one by one and looks them up before.
class CachedEncoder final : public TextEncoder {
 public:
  /// Whether encoding words apart, each with the mark in front, gives what encoding the text does: so it is if spaces
  /// become the mark that words begin with, nothing else is matched in the text, and nothing is drawn at random.
  static bool applies_to(const BpeDefinition& definition, const EncodeOptions& options);

  /// All must outlive the encoder.
  CachedEncoder(const BpeDefinition& definition, const TextSplitter& splitter, const BpeModel& model,
                const EncodeOptions& options);
  void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override;

 private:
  void encode_new(std::string_view word, const WordKey& key, std::vector<std::int32_t>& ids);
  void append_unit(std::string_view unit, std::vector<std::int32_t>& ids);

  const TextSplitter& splitter_;
  const BpeModel& model_;
  EncodeOptions options_;
  bool only_marks_;  // the text is not changed apart from the marks
  WordCache cache_;
  std::vector<std::int32_t> mark_ids_;
  std::string marked_word_;
  WordBuffers buffers_;
};

}  // namespace dragoman::tokenizer
