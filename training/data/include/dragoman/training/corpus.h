#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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
  void append(const SequenceList& others);
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
  void append(const LineList& others);
  std::uint64_t total() const noexcept { return text_.size(); }

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
  /// Of each pair the links between its tokens: pairs of a target token's place and a source token's, end to end,
  /// sorted and unique. Empty: no text has alignments.
  SequenceList links{};
  /// All pairs; empty: each comes once.
  std::vector<WeightedPart> parts{};
  std::size_t size() const noexcept { return source.size(); }
  bool aligned() const noexcept { return links.size() > 0; }
};

/// How many sequences there are of each length.
using LengthCounts = std::map<std::int32_t, std::uint64_t>;

/// Of both sides of a corpus.
struct PairLengths {
  LengthCounts source{};
  LengthCounts target{};
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

/// The weights with which texts of so many pairs are mixed as p_i ~ n_i^(1/temperature), in an epoch of as many pairs
/// as there are; 0 for a text without pairs. In multiples of 2^-20, so that every machine has the same.
std::vector<double> weights_by_temperature(const std::vector<std::uint64_t>& pairs, double temperature);

struct CorpusOptions {
  std::int32_t maximum_length = 256;
  std::int32_t end = 2;
  /// What stands around the tokens of every pair: part of its sequences.
  formats::SequenceTags tags{};
  /// Of each text, in place of `tags`; empty: those for all.
  std::vector<formats::SequenceTags> tags_of_texts{};
  double bpe_dropout = 0;
  SubwordSampling subword_sampling{};
  AlignmentUnits alignment_units = AlignmentUnits::kWords;
  std::uint64_t seed = 1;
  /// Whether text() is wanted afterwards; where epochs differ it is kept in any case.
  bool keep_text = false;
  /// Whether EncodedPairs::parts is wanted although all weights are 1.
  bool keep_parts = false;
  /// DataConfig::temperature.
  double temperature = 1;
  /// Pairs that take more bytes stand in blocks on disk; 0: never.
  std::uint64_t memory = 0;
  /// The blocks are in a folder of their own within this one, named after all that they are a function of. Nothing
  /// else in it is touched.
  std::filesystem::path cache{};
  /// Whether standard input and other pipes, whose content nothing tells, are those that blocks were made of before.
  bool same_pipes = false;
  /// Tells tokenizers from others: blocks that were made with the same ones, from files of the same sizes and times,
  /// are used again.
  std::string tokenizers{};
  core::LogSink log{};
};

struct BlockIndex;
class BlockStore;
class PairEncoder;
struct PairSequences;

/// A parallel text, encoded once, or, where segmentations are drawn (BPE-dropout, subword regularisation), once per
/// epoch; in memory, or above a limit on disk. Reading is single-threaded, encoding runs on the executor; the result
/// depends on neither. One thread at a time, but for what is const.
class Corpus {
 public:
  /// Reads and encodes. Files of different length are Error{kBadInput} naming both with their counts; a text of which
  /// nothing remains is one, too, and so is a line that does not hold a pair, or no alignment of its pair.
  /// Error{kInvalidArgument} before anything is read if something else stands where blocks would.
  Corpus(const ParallelCorpusConfig& files, TokenizerPair tokenizers, const CorpusOptions& options,
         core::Executor& executor, const core::ProgressSink& progress = {}, const std::stop_token& stop = {});
  ~Corpus();
  Corpus(Corpus&&) noexcept;

  /// Whether epochs differ in how lines are cut.
  bool draws() const noexcept;
  /// The pairs as epoch `epoch` sees them, a pure function of (seed, epoch, pair); draws() must hold. A pair that a
  /// draw makes over-long keeps its usual pieces for that epoch (one with alignments on both sides). Of a corpus in
  /// memory. Error{kInterrupted} if it is stopped.
  EncodedPairs drawn(std::int64_t epoch, core::Executor& executor, const std::stop_token& stop) const;
  /// The pairs without draws; none if they are on disk.
  const EncodedPairs& pairs() const noexcept { return pairs_; }
  std::size_t size() const noexcept { return size_; }
  std::uint64_t source_tokens() const noexcept { return source_tokens_; }
  std::uint64_t target_tokens() const noexcept { return target_tokens_; }
  const CorpusCounts& counts() const noexcept { return counts_; }
  /// Of all pairs, wherever they are.
  const PairLengths& lengths() const noexcept { return lengths_; }
  /// 16 hexadecimal digits over every line of both sides, to tell that a run goes on with the data it began with.
  const std::string& fingerprint() const noexcept { return fingerprint_; }
  /// Of the first text.
  const formats::SequenceTags& tags() const noexcept;
  /// Of a pair.
  const formats::SequenceTags& tags_of(std::size_t pair) const noexcept;
  /// The lines of the pairs that were kept.
  const LineList& source_text() const noexcept { return source_text_; }
  const LineList& target_text() const noexcept { return target_text_; }

  /// Pairs of each text.
  const std::vector<std::uint64_t>& pairs_of_texts() const noexcept { return pairs_of_texts_; }
  /// How often an epoch has the pairs of each text; empty: each once.
  const std::vector<double>& weights() const noexcept { return weights_; }

  bool on_disk() const noexcept { return blocks_ != nullptr; }
  std::size_t blocks() const noexcept;
  /// Of which text a block is, and how many pairs it has.
  std::size_t text_of_block(std::size_t block) const noexcept;
  std::uint64_t pairs_of_block(std::size_t block) const noexcept;
  /// Reads a block as `epoch` sees it, appending to `pairs`. One thread at a time.
  void append_block(std::size_t block, std::int64_t epoch, EncodedPairs& pairs, const std::stop_token& stop) const;

 private:
  struct Reading;

  void read_all(Reading& reading, core::Executor& executor, const core::ProgressSink& progress,
                const std::stop_token& stop);
  void read_file(Reading& reading, core::Executor& executor, const core::ProgressSink& progress,
                 const std::stop_token& stop);
  void encode_lines(Reading& reading, core::Executor& executor);
  void encode_line(const Reading& reading, std::size_t line, PairSequences& pair, std::string& problem) const;
  void append_pair(Reading& reading, std::size_t line, const PairSequences& pair);
  void take_pairs(Reading& reading);
  void take_blocks(BlockIndex index, const std::filesystem::path& folder);
  void set_weights();

  std::unique_ptr<PairEncoder> encoder_;
  CorpusOptions options_;
  std::vector<CorpusPart> texts_;
  EncodedPairs pairs_;
  LineList source_text_;
  LineList target_text_;
  LineList alignment_text_;
  bool aligned_ = false;  ///< whether a text has alignments
  std::unique_ptr<BlockStore> blocks_;
  std::vector<std::uint64_t> pairs_of_texts_;
  std::vector<double> weights_;
  std::size_t size_ = 0;
  std::uint64_t source_tokens_ = 0;
  std::uint64_t target_tokens_ = 0;
  CorpusCounts counts_;
  PairLengths lengths_;
  std::string fingerprint_;
};

/// A core::fingerprint() as files of a run have it: 16 digits.
std::string hexadecimal(std::uint64_t fingerprint);

}  // namespace dragoman::training
