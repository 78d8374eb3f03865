#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/core/parallel.h>
#include <dragoman/formats/languages.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// Sequences of any lengths, end to end.
class SequenceList {
 public:
  std::size_t size() const noexcept { return offsets_.size() - 1; }
  std::int32_t length(std::size_t i) const noexcept { return static_cast<std::int32_t>(offsets_[i + 1] - offsets_[i]); }
  std::span<const std::int32_t> operator[](std::size_t i) const noexcept {
    return std::span(tokens_).subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  void append(std::span<const std::int32_t> sequence);
  std::uint64_t total() const noexcept { return tokens_.size(); }

 private:
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint64_t> offsets_{0};
};

/// Lines of text, end to end.
class LineList {
 public:
  std::size_t size() const noexcept { return offsets_.size() - 1; }
  std::string_view operator[](std::size_t i) const noexcept {
    return std::string_view(text_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  void append(std::string_view line);

 private:
  std::string text_;
  std::vector<std::uint64_t> offsets_{0};
};

/// The pairs up to `end`, behind those of the part before, and how often an epoch has each.
struct WeightedPart {
  std::size_t end = 0;
  double weight = 1;
};

/// Token ids of both sides, each sequence with its closing end token, and with its tags.
struct EncodedPairs {
  SequenceList source;
  SequenceList target;
  /// All pairs; empty: each comes once.
  std::vector<WeightedPart> parts{};
  std::size_t size() const noexcept { return source.size(); }
};

struct CorpusCounts {
  std::uint64_t lines = 0;
  std::uint64_t empty = 0;         ///< pairs left out because a side has no tokens
  std::uint64_t too_long = 0;      ///< pairs left out because a side is over-long
  std::uint64_t invalid_text = 0;  ///< lines in which ill-formed UTF-8 became U+FFFD
};

/// The tokenizers of both sides; the same object twice if the vocabulary is joint.
struct TokenizerPair {
  std::shared_ptr<const tokenizer::Tokenizer> source;
  std::shared_ptr<const tokenizer::Tokenizer> target;
};

struct CorpusOptions {
  std::int32_t maximum_length = 256;
  std::int32_t end = 2;
  /// What stands around the tokens of every pair: part of its sequences.
  formats::SequenceTags tags{};
  double bpe_dropout = 0;
  std::uint64_t seed = 1;
  /// Whether text() is wanted afterwards; with BPE-dropout it is kept in any case.
  bool keep_text = false;
};

/// A parallel text in memory, encoded once, or with BPE-dropout once per epoch. Reading is single-threaded, encoding
/// runs on the executor; the result depends on neither. One thread at a time.
class Corpus {
 public:
  /// Reads and encodes. Files of different length are Error{kBadInput} naming both with their counts; a text of which
  /// nothing remains is one, too.
  Corpus(const TextPair& files, TokenizerPair tokenizers, const CorpusOptions& options, core::Executor& executor,
         const core::ProgressSink& progress = {}, const std::stop_token& stop = {});

  /// The pairs as epoch `epoch` sees them: with BPE-dropout a pure function of (seed, epoch, pair), else always the
  /// same. A pair that dropout makes over-long keeps its usual pieces for that epoch. Valid until the next call.
  const EncodedPairs& epoch(std::int64_t epoch);
  /// The pairs without dropout.
  const EncodedPairs& pairs() const noexcept { return pairs_; }
  std::size_t size() const noexcept { return pairs_.size(); }
  const CorpusCounts& counts() const noexcept { return counts_; }
  /// 16 hexadecimal digits over every line of both sides, to tell that a run goes on with the data it began with.
  const std::string& fingerprint() const noexcept { return fingerprint_; }
  const formats::SequenceTags& tags() const noexcept { return options_.tags; }
  /// The lines of the pairs that were kept.
  const LineList& source_text() const noexcept { return source_text_; }
  const LineList& target_text() const noexcept { return target_text_; }

 private:
  void read_files(const std::string& source, const std::string& target, core::Executor& executor,
                  const core::ProgressSink& progress, const std::stop_token& stop);
  void encode_block(std::vector<std::string>& source, std::vector<std::string>& target, core::Executor& executor);
  void append_pair(std::string_view source_line, std::string_view target_line, std::span<const std::int32_t> source,
                   std::span<const std::int32_t> target);

  TokenizerPair tokenizers_;
  CorpusOptions options_;
  core::Executor* executor_;
  EncodedPairs pairs_;
  EncodedPairs dropped_;
  std::int64_t dropped_epoch_ = -1;
  LineList source_text_;
  LineList target_text_;
  CorpusCounts counts_;
  std::uint64_t hash_;
  std::string fingerprint_;
};

/// A core::fingerprint() as files of a run have it: 16 digits.
std::string hexadecimal(std::uint64_t fingerprint);

}  // namespace dragoman::training
