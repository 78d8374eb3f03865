#pragma once

#include "bpe/bpe_model.h"
#include "bpe/word_cache.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/pre_tokenizer.h"
#include "pre_tokenizing/spaced_words.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Encodes the words between spaces and looks them up before. Words are taken many at a time: those that must be
/// fetched from memory are fetched together, and those that are new are merged together.
class SpacedWordsEncoder final : public TextEncoder {
 public:
  /// Whether encoding words apart, each with the mark in front, gives what encoding the text does: so it is if spaces
  /// become the mark that words begin with, nothing else is matched in the text, and nothing is drawn at random.
  static bool applies_to(const BpeDefinition& definition, const EncodeOptions& options);

  /// All must outlive the encoder.
  SpacedWordsEncoder(const BpeDefinition& definition, const PreTokenizer& pre_tokenizer, const BpeModel& model,
                     const EncodeOptions& options);
  void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override;
  void encode_all(std::span<const std::string_view> texts, std::uint64_t first_line, EncodedTexts& out) override;

 private:
  struct Scanned {
    const char* begin;
    std::size_t size;
    WordKey key;
    std::string_view text() const { return {begin, size}; }
  };
  struct NewWord {
    std::size_t place;  ///< among the words that wait
    Scanned word;
  };
  /// The packed ids of a new word, or in place of their number kElsewhere.
  struct NewIds {
    static constexpr std::size_t kMax = 16;
    static constexpr std::uint8_t kElsewhere = 255;
    std::uint8_t bytes[PackedIds::bytes(kMax)];
  };
  struct Output {
    std::vector<std::int32_t>& ids;
    std::vector<std::size_t>* offsets;  ///< null for one text, whose end nobody asks for
  };

  void begin();
  void add_words(std::string_view text, std::size_t readable, const Output& output);
  void flush(const Output& output);
  void write(const Output& output) const;
  void encode_new();
  void split_new();
  bool merges_with_others(std::string_view word);
  std::string_view marked(std::string_view word);
  bool is_one_part(std::string_view word);
  std::vector<std::int32_t> encode_alone(std::string_view word);
  void append_pre_token(std::string_view text, std::vector<std::int32_t>& ids);

  const PreTokenizer& pre_tokenizer_;
  const BpeModel& model_;
  EncodeOptions options_;
  PlainWords plain_;
  InnerSplits inner_splits_;
  bool only_marks_;       // plain words are encoded as they stand behind their mark, or part by part
  bool merges_together_;  // new words
  WordCache cache_;
  std::vector<std::uint8_t> mark_ids_;  // packed

  std::vector<const std::uint8_t*> words_;  // packed ids of those that wait
  std::size_t waiting_ = 0;                 // how many those are
  std::vector<std::size_t> ends_;           // places among them where texts end
  std::size_t new_words_ = 0;               // how many of them are new; of each:
  std::vector<NewWord> new_;
  std::vector<NewIds> new_ids_;
  std::vector<WordIds> new_symbols_;  // in symbols_; none if it is encoded alone
  std::vector<std::int32_t> symbols_;
  WordGroup group_;
  std::vector<std::vector<std::int32_t>> alone_;       // ids of new words that are encoded alone
  std::vector<std::span<const std::int32_t>> others_;  // ids of new words that have too many, in their order
  std::string marked_word_;
  WordBuffers buffers_;
};

}  // namespace dragoman::tokenizer
