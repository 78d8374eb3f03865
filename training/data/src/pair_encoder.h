#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <dragoman/training/corpus.h>

namespace dragoman::training {

/// The lines of a pair. An alignment is Pharaoh's; one that is not there says that its text has none.
struct PairLines {
  std::string_view source;
  std::string_view target;
  std::optional<std::string_view> alignment{};
};

/// What they are cut into, with all that stands around it, and the links as EncodedPairs has them. A side without
/// tokens is empty.
struct PairSequences {
  std::vector<std::int32_t> source{};
  std::vector<std::int32_t> target{};
  std::vector<std::int32_t> links{};
};

/// What stands around the tokens of one side's lines.
struct SequenceFrame {
  std::span<const std::int32_t> prefix;
  std::int32_t end;
  std::span<const std::int32_t> suffix;
};

/// Makes sequences of texts, as a model takes them. Thread-safe.
class PairEncoder {
 public:
  /// Error{kBadInput} for a way to draw segmentations that one of the tokenizers does not have.
  PairEncoder(TokenizerPair tokenizers, const CorpusOptions& options);

  /// `text`: the number of the pair's text. Error{kBadInput} for an alignment that is none, or is that of other lines.
  PairSequences encode(const PairLines& lines, std::size_t text) const { return encode(lines, text, {}, {}); }
  /// The same as `epoch` sees them, the lines being the pair of that number.
  PairSequences draw(const PairLines& lines, std::size_t text, std::int64_t epoch, std::uint64_t number) const;

  /// Whether epochs differ.
  bool draws() const noexcept { return mode_ != tokenizer::EncodingMode::kExact; }
  /// Whether the lines are wanted beside their sequences.
  bool keeps_text() const noexcept { return options_.keep_text || draws(); }
  bool is_too_long(std::size_t tokens) const noexcept {
    return tokens > static_cast<std::size_t>(options_.maximum_length);
  }
  /// Whether one of the sides is.
  bool is_too_long(const PairSequences& pair) const noexcept {
    return is_too_long(pair.source.size()) || is_too_long(pair.target.size());
  }
  const formats::SequenceTags& tags_of(std::size_t text) const {
    return options_.tags_of_texts.empty() ? options_.tags : options_.tags_of_texts.at(text);
  }

 private:
  /// How lines are cut in one epoch: drawn anew for each side, epoch and line.
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
