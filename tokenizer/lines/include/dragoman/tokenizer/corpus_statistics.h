#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// A histogram of integers, such as pieces per word or per line.
class Histogram {
 public:
  void add(std::uint64_t value, std::uint64_t times = 1) { times_[value] += times; }
  void add(const Histogram& other) {
    for (const auto& [value, times] : other.times_) add(value, times);
  }
  std::uint64_t count() const;
  /// The following functions return 0 for an empty histogram.
  double mean() const;
  std::uint64_t max() const { return times_.empty() ? 0 : times_.rbegin()->first; }
  /// Returns the smallest value such that at least `share` (above 0, at most 1) of all values are not larger.
  std::uint64_t quantile(double share) const;

 private:
  std::map<std::uint64_t, std::uint64_t> times_;
};

/// Statistics of a corpus that is encoded by a tokenizer.
struct CorpusStatistics {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;       ///< separated by spaces
  std::uint64_t bytes = 0;       ///< without line ends
  std::uint64_t characters = 0;  ///< of the text, with spaces; an ill-formed sequence counts as one
  std::uint64_t pieces = 0;
  std::uint64_t unknown_pieces = 0;
  std::uint64_t byte_pieces = 0;  ///< from byte fallback
  Histogram pieces_per_line;
  /// A piece belongs to the word in which it ends, and spaces to the next word, or to the last one. The mean is
  /// therefore the number of pieces per word, except for the effect of lines without words.
  Histogram pieces_per_word;
  std::vector<std::uint64_t> piece_counts;  ///< by id
};

/// Encodes the lines of text files and counts pieces. gzip and Zstandard are detected, and "-" is standard input.
/// `threads` 0 means core::default_threads(); the result does not depend on it. Throws the errors of encoding and
/// Error{kInterrupted}.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     const CorpusStatistics statistics = measure_corpus(*tokenizer, {"train.de"});
///     std::cout << statistics.pieces_per_word.mean() << " pieces per word\n";
CorpusStatistics measure_corpus(const Tokenizer& tokenizer, const std::vector<std::filesystem::path>& inputs,
                                int threads = 0, const core::ProgressSink& progress = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
