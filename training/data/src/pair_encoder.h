#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <dragoman/training/corpus.h>

namespace dragoman::training {

/// The lines of a pair. The alignment is in Pharaoh format; nullopt if the text has no alignments.
struct PairLines {
  std::string_view source;
  std::string_view target;
  std::optional<std::string_view> alignment{};
};

/// The sequences of a pair, with tags and ends, and its links in the form of EncodedPairs. A side without tokens is
/// empty.
struct PairSequences {
  std::vector<std::int32_t> source{};
  std::vector<std::int32_t> target{};
  std::vector<std::int32_t> links{};
};

/// The tokens before and after the tokens of a line.
struct SequenceFrame {
  std::span<const std::int32_t> prefix;
  std::optional<std::int32_t> end;
  std::span<const std::int32_t> suffix;
};

/// Encodes texts as sequences for a model. Thread-safe.
class PairEncoder {
 public:
  /// Error{kBadInput} for a kind of draw that one of the tokenizers does not support.
  PairEncoder(TokenizerPair tokenizers, const CorpusOptions& options);

  /// `text`: the number of the pair's text. Error{kBadInput} for an invalid alignment, or one of other lines.
  PairSequences encode(const PairLines& lines, std::size_t text) const { return encode(lines, text, {}, {}); }
  /// As encode(), with the draws of `epoch`. The lines are the pair of that number.
  PairSequences draw(const PairLines& lines, std::size_t text, std::int64_t epoch, std::uint64_t number) const;

  /// Returns whether segmentations differ between epochs.
  bool draws() const noexcept { return mode_ != tokenizer::EncodingMode::kExact; }
  /// Returns whether the lines must be kept in addition to their sequences.
  bool keeps_text() const noexcept { return options_.keep_text || draws(); }
  bool is_too_long(std::size_t tokens) const noexcept {
    return tokens > static_cast<std::size_t>(options_.maximum_length);
  }
  /// Returns whether one of the sides is too long.
  bool is_too_long(const PairSequences& pair) const noexcept {
    return is_too_long(pair.source.size()) || is_too_long(pair.target.size());
  }
  const formats::SequenceTags& tags_of(std::size_t text) const {
    return options_.tags_of_texts.empty() ? options_.tags : options_.tags_of_texts.at(text);
  }

 private:
  /// Returns how one line is segmented in one epoch: a separate draw for each side, epoch and line.
  tokenizer::EncodeOptions draw(std::int64_t epoch, std::uint64_t side, std::uint64_t number) const;
  PairSequences encode(const PairLines& lines, std::size_t text, const tokenizer::EncodeOptions& source,
                       const tokenizer::EncodeOptions& target) const;
  PairSequences encode_aligned(const PairLines& lines, const SequenceFrame& source_frame,
                               const SequenceFrame& target_frame, const tokenizer::EncodeOptions& source,
                               const tokenizer::EncodeOptions& target) const;
  void require_draws() const;

  TokenizerPair tokenizers_;
  CorpusOptions options_;
  tokenizer::EncodingMode mode_ = tokenizer::EncodingMode::kExact;
};

}  // namespace dragoman::training
