#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/record_io.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::cli {

/// The places of the two sides of a pair in a line of one file.
struct PairFields {
  pipeline::RecordFormat format = pipeline::RecordFormat::kTsv;  ///< or kJsonl
  std::uint64_t source_column = 1;
  std::uint64_t target_column = 2;
  std::string source_key = "source";
  std::string target_key = "target";
};

/// Reads pairs line by line from two files, from one file with both sides, or from one file with sources only.
class LinePairReader {
 public:
  /// The number of bytes that keeps all threads busy; and the number for lines whose results are a thousand times
  /// larger.
  static constexpr std::size_t kUsualBytes = std::size_t{1} << 18;
  static constexpr std::size_t kFewBytes = std::size_t{1} << 14;

  /// An empty `target`: sources only.
  LinePairReader(const std::string& source, const std::string& target, const std::stop_token& stop);
  /// Both sides are in one file.
  LinePairReader(const std::string& path, PairFields fields, const std::stop_token& stop);

  /// Appends the next lines, of about `bytes` bytes. Returns false at the end. Error{kBadInput} if one file ends before
  /// the other, or if a line does not contain both sides.
  bool read(std::vector<pipeline::LinePair>& pairs, std::size_t bytes);
  std::uint64_t lines_read() const { return sources_.line_number(); }
  /// Returns core::fingerprint_of_line() over all lines that were read, of both files.
  std::uint64_t hash() const noexcept { return hash_; }
  /// Skips lines. Error{kBadInput} if there are fewer.
  void skip(std::uint64_t lines);
  const std::string& name() const noexcept { return sources_.name(); }
  /// Returns the statistics about the lines that were read.
  const pipeline::LineCounts& counts() const noexcept { return counts_; }

 private:
  bool next_lines(std::string& source, std::string& target);
  bool next(pipeline::LinePair& pair);

  core::LineReader sources_;
  std::unique_ptr<core::LineReader> targets_;
  std::optional<PairFields> fields_;
  pipeline::LineCounts counts_;
  std::uint64_t hash_ = core::kFingerprintOfNothing;
};

}  // namespace dragoman::cli
