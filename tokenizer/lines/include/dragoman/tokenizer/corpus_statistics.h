#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// How often each number occurred among some: of pieces in words, or in lines.
class Histogram {
 public:
  void add(std::uint64_t value, std::uint64_t times = 1) { times_[value] += times; }
  void add(const Histogram& other) {
    for (const auto& [value, times] : other.times_) add(value, times);
  }
  std::uint64_t count() const;
  /// All of these are 0 where nothing was added.
  double mean() const;
  std::uint64_t max() const { return times_.empty() ? 0 : times_.rbegin()->first; }
  /// The smallest value such that at least `share` (above 0, at most 1) of all values are not larger.
  std::uint64_t quantile(double share) const;

 private:
  std::map<std::uint64_t, std::uint64_t> times_;
};

/// What a tokenizer makes of a corpus.
struct CorpusStatistics {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;       ///< what stands between spaces
  std::uint64_t bytes = 0;       ///< without line ends
  std::uint64_t characters = 0;  ///< of the text, spaces included; a sequence that is not UTF-8 counts as one
  std::uint64_t pieces = 0;
  std::uint64_t unknown_pieces = 0;
  std::uint64_t byte_pieces = 0;  ///< by byte fallback
  Histogram pieces_per_line;
  /// A piece belongs to the word that it ends in, spaces to the word behind them, or the last one. So the mean is that
  /// of all pieces per word, save for lines without words.
  Histogram pieces_per_word;
  std::vector<std::uint64_t> piece_counts;  ///< by id
};

/// Encodes the lines of text files (gzip and Zstandard are recognised, "-" is standard input) and counts. `threads` 0
/// means core::default_threads(); the result does not depend on it. Throws what encoding throws, and
/// Error{kInterrupted}.
CorpusStatistics measure_corpus(const Tokenizer& tokenizer, const std::vector<std::filesystem::path>& inputs,
                                int threads = 0, const core::ProgressSink& progress = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
