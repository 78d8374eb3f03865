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

/// Sequences of any lengths, stored consecutively.
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

/// Lines of text, stored consecutively.
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

/// The pairs from the end of the previous part up to `end`, and the number of times that an epoch contains each.
struct WeightedPart {
  std::size_t end = 0;
  double weight = 1;
};

/// The token ids of both sides. Each sequence includes its closing end token and its tags.
struct EncodedPairs {
  SequenceList source;
  SequenceList target;
  /// For each pair, the links between its tokens: (target index, source index) pairs, stored consecutively, sorted and
  /// unique. Empty: no text has alignments.
  SequenceList links{};
  /// Covers all pairs. Empty: each pair occurs once.
  std::vector<WeightedPart> parts{};
  std::size_t size() const noexcept { return source.size(); }
  bool aligned() const noexcept { return links.size() > 0; }
};

/// The number of sequences of each length.
using LengthCounts = std::map<std::int32_t, std::uint64_t>;

/// The lengths of both sides of a corpus.
struct PairLengths {
  LengthCounts source{};
  LengthCounts target{};
};

struct CorpusCounts {
  std::uint64_t lines = 0;
  std::uint64_t empty = 0;         ///< pairs left out because a side has no tokens
  std::uint64_t too_long = 0;      ///< pairs left out because a side is too long
  std::uint64_t invalid_text = 0;  ///< lines in which ill-formed UTF-8 was replaced by U+FFFD
};

/// The tokenizers of both sides. The same object twice if the vocabulary is joint.
struct TokenizerPair {
  std::shared_ptr<const tokenizer::Tokenizer> source;
  std::shared_ptr<const tokenizer::Tokenizer> target;
};

/// Returns the weights that mix texts with the given numbers of pairs as p_i ~ n_i^(1/temperature), in an epoch with
/// the total number of pairs; 0 for a text without pairs. Weights are multiples of 2^-20, so that all machines agree.
std::vector<double> weights_by_temperature(const std::vector<std::uint64_t>& pairs, double temperature);

struct CorpusOptions {
  std::int32_t maximum_length = 256;
  std::int32_t end = 2;
  /// Tags around the tokens of every pair; they are part of its sequences.
  formats::SequenceTags tags{};
  /// The tags of each text, instead of `tags`. Empty: `tags` for all.
  std::vector<formats::SequenceTags> tags_of_texts{};
  double bpe_dropout = 0;
  SubwordSampling subword_sampling{};
  AlignmentUnits alignment_units = AlignmentUnits::kWords;
  std::uint64_t seed = 1;
  /// Whether the text of the corpus must be available afterwards. It is kept anyway if epochs differ.
  bool keep_text = false;
  /// Whether EncodedPairs::parts is set although all weights are 1.
  bool keep_parts = false;
  /// DataConfig::temperature.
  double temperature = 1;
  /// Pairs with more bytes than this are stored in blocks on disk. 0: never.
  std::uint64_t memory = 0;
  /// The folder for blocks. Blocks are in a subfolder whose name identifies everything that they depend on. Nothing
  /// else in the folder is changed.
  std::filesystem::path cache{};
  /// Whether to assume that standard input and other pipes have the content from which existing blocks were made.
  bool same_pipes = false;
  /// Identifies the tokenizers. Blocks are reused if they were made with the same tokenizers from files with the same
  /// sizes and times.
  std::string tokenizers{};
  core::LogSink log{};
};

struct BlockIndex;
class BlockStore;
class PairEncoder;
struct PairSequences;

/// A parallel text, encoded once or, if segmentations are drawn (BPE-dropout, subword regularisation), once per epoch.
/// It is in memory, or on disk above a limit. Reading uses one thread and encoding uses the executor; the result
/// depends on neither. Not thread-safe, except for const functions.
///
///     const std::shared_ptr<const tokenizer::Tokenizer> joint = tokenizer::load_tokenizer("tokenizer.json");
///     const auto executor = core::make_executor(4);
///     const ParallelCorpusConfig files{.source = {"train.de"}, .target = {"train.en"}};
///     const Corpus corpus(files, {joint, joint}, {.maximum_length = 100}, *executor);
///     std::cout << corpus.size() << ' ' << corpus.source_tokens();
///
/// It keeps the tokenizers. The files may change afterwards.
class Corpus {
 public:
  /// Reads and encodes the files. Error{kBadInput} in these cases: files of a pair differ in length (the message names
  /// both, with their counts); no pair of a text remains; a line does not contain a pair, or not an alignment of its
  /// pair. Error{kInvalidArgument}, before anything is read, if something else is in the place of the blocks.
  Corpus(const ParallelCorpusConfig& files, TokenizerPair tokenizers, const CorpusOptions& options,
         core::Executor& executor, const core::ProgressSink& progress = {}, const std::stop_token& stop = {});
  ~Corpus();
  Corpus(Corpus&&) noexcept;

  /// Returns whether segmentations differ between epochs.
  bool draws() const noexcept;
  /// Returns the pairs of epoch `epoch`, a pure function of (seed, epoch, pair). Requires draws() and a corpus in
  /// memory. If a draw makes a pair too long, the pair keeps its default segmentation in that epoch (with alignments:
  /// on both sides). Error{kInterrupted} after a stop request.
  EncodedPairs drawn(std::int64_t epoch, core::Executor& executor, const std::stop_token& stop) const;
  /// Returns the pairs without draws. Empty if they are on disk.
  const EncodedPairs& pairs() const noexcept { return pairs_; }
  std::size_t size() const noexcept { return size_; }
  std::uint64_t source_tokens() const noexcept { return source_tokens_; }
  std::uint64_t target_tokens() const noexcept { return target_tokens_; }
  const CorpusCounts& counts() const noexcept { return counts_; }
  /// Returns the lengths of all pairs, in memory or on disk.
  const PairLengths& lengths() const noexcept { return lengths_; }
  /// Returns 16 hexadecimal digits over every line of both sides, by which a run verifies that its data is unchanged.
  const std::string& fingerprint() const noexcept { return fingerprint_; }
  /// Returns the tags of the first text.
  const formats::SequenceTags& tags() const noexcept;
  /// Returns the tags of a pair.
  const formats::SequenceTags& tags_of(std::size_t pair) const noexcept;
  /// Return the lines of the pairs that were kept.
  const LineList& source_text() const noexcept { return source_text_; }
  const LineList& target_text() const noexcept { return target_text_; }

  /// Returns the number of pairs of each text.
  const std::vector<std::uint64_t>& pairs_of_texts() const noexcept { return pairs_of_texts_; }
  /// Returns the number of times that an epoch contains the pairs of each text. Empty: once.
  const std::vector<double>& weights() const noexcept { return weights_; }

  bool on_disk() const noexcept { return blocks_ != nullptr; }
  std::size_t blocks() const noexcept;
  /// Return the text of a block and its number of pairs.
  std::size_t text_of_block(std::size_t block) const noexcept;
  std::uint64_t pairs_of_block(std::size_t block) const noexcept;
  /// Appends the pairs of a block in `epoch` to `pairs`. Not thread-safe.
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

/// Returns a core::fingerprint() as 16 digits, the form in the files of a run.
std::string hexadecimal(std::uint64_t fingerprint);

}  // namespace dragoman::training
