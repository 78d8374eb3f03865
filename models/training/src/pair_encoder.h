#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <dragoman/training/corpus.h>

namespace dragoman::training {

/// Makes sequences of texts, as a model takes them. Thread-safe.
class PairEncoder {
 public:
  /// Error{kBadInput} for a way to draw segmentations that one of the tokenizers does not have.
  PairEncoder(TokenizerPair tokenizers, const CorpusOptions& options);

  /// What a line becomes, with all that stands around it; empty if it has no tokens. `text`: the number of its text.
  std::vector<std::int32_t> source(std::string_view line, std::size_t text) const;
  std::vector<std::int32_t> target(std::string_view line, std::size_t text) const;

  /// Whether epochs differ.
  bool draws() const noexcept { return mode_ != tokenizer::EncodingMode::kExact; }
  /// Whether the lines are wanted beside their sequences.
  bool keeps_text() const noexcept { return options_.keep_text || draws(); }
  /// How lines are cut in one epoch: drawn anew for each side, epoch and line.
  tokenizer::EncodeOptions source_draw(std::int64_t epoch) const { return draw(epoch, 0); }
  tokenizer::EncodeOptions target_draw(std::int64_t epoch) const { return draw(epoch, 1); }
  std::vector<std::int32_t> source(std::string_view line, std::size_t text,
                                   const tokenizer::EncodeOptions& options) const;
  std::vector<std::int32_t> target(std::string_view line, std::size_t text,
                                   const tokenizer::EncodeOptions& options) const;
  bool is_too_long(std::size_t tokens) const noexcept {
    return tokens > static_cast<std::size_t>(options_.maximum_length);
  }
  const formats::SequenceTags& tags_of(std::size_t text) const {
    return options_.tags_of_texts.empty() ? options_.tags : options_.tags_of_texts.at(text);
  }

 private:
  tokenizer::EncodeOptions draw(std::int64_t epoch, std::uint64_t side) const;
  void require_draws() const;

  TokenizerPair tokenizers_;
  CorpusOptions options_;
  tokenizer::EncodingMode mode_ = tokenizer::EncodingMode::kExact;
};

}  // namespace dragoman::training
