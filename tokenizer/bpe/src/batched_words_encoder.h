#pragma once

#include "bpe/bpe_model.h"
#include "bpe/word_cache.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/pre_tokenizer.h"
#include "pre_tokenizing/spaced_words.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Encodes words with a cache, without copying the text. Words are processed in groups: those that must be fetched from
/// memory are fetched together, and new words are merged together.
///
/// The words are those between spaces, which get a mark, or the matches of the pattern of a byte-level tokenizer.
class BatchedWordsEncoder final : public TextEncoder {
 public:
  /// Returns whether encoding each word separately gives the same ids as encoding the text. This is the case if nothing
  /// is random, nothing is matched in the text before it is split, and either spaces become the mark at which words
  /// begin, or the words are matches of a pattern in unchanged text.
  static bool applies_to(const BpeDefinition& definition, const PreTokenizer& pre_tokenizer,
                         const EncodeOptions& options);

  /// All references must outlive the encoder.
  BatchedWordsEncoder(const BpeDefinition& definition, const PreTokenizer& pre_tokenizer, const BpeModel& model,
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
  /// The packed ids of a new word, or kElsewhere in place of their number.
  struct NewIds {
    static constexpr std::size_t kMax = 16;
    static constexpr std::uint8_t kElsewhere = 255;
    std::uint8_t bytes[PackedIds::bytes(kMax)];
  };
  struct Output {
    std::vector<std::int32_t>& ids;
    std::vector<std::size_t>* offsets;  ///< null for a single text, whose end is not needed
  };

  void encode_mark();
  void begin();
  void add_words(std::string_view text, std::size_t readable, const Output& output);
  template <class Scanner>
  void add_scanned(Scanner scanner, const Output& output);
  void look_up(std::size_t count);
  void flush(const Output& output);
  void write(const Output& output) const;
  void encode_new();
  void split_new();
  bool is_plain(std::string_view word) const noexcept { return pattern_ || plain_.contain(word); }
  bool merges_with_others(std::string_view word);
  std::string_view marked(std::string_view word);
  bool is_one_part(std::string_view word);
  std::vector<std::int32_t> encode_alone(std::string_view word);
  void append_pre_token(std::string_view text, std::vector<std::int32_t>& ids);

  const PreTokenizer& pre_tokenizer_;
  const BpeModel& model_;
  EncodeOptions options_;
  std::optional<WordPattern> pattern_;  // if not set, words are between spaces
  std::string_view mark_;               // of words between spaces
  PlainWords plain_;
  InnerSplits inner_splits_;
  bool only_marks_;       // plain words are encoded unchanged after their mark, or part by part
  bool merges_together_;  // new words
  WordCache cache_;
  std::vector<std::uint8_t> mark_ids_;  // packed

  std::size_t waiting_ = 0;  // the number of waiting words; for each:
  std::vector<Scanned> scanned_;
  std::vector<const std::uint8_t*> words_;  // its packed ids, if it is among the first looked_up_
  std::size_t looked_up_ = 0;
  std::vector<std::size_t> ends_;  // the indices among them at which texts end
  std::size_t new_words_ = 0;      // the number of new ones among them; for each:
  std::vector<std::size_t> new_;   // its index among them
  std::vector<NewIds> new_ids_;
  std::vector<WordIds> new_symbols_;  // in symbols_; empty if the word is encoded alone
  std::vector<std::int32_t> symbols_;
  WordGroup group_;
  std::vector<std::vector<std::int32_t>> alone_;       // the ids of new words that are encoded alone
  std::vector<std::span<const std::int32_t>> others_;  // the ids of new words with too many ids, in order
  std::string marked_word_;
  WordBuffers buffers_;
};

}  // namespace dragoman::tokenizer
