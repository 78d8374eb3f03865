#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::cli {

/// Reads two files line by line, or one, whose lines then have no target.
class LinePairReader {
 public:
  /// Bytes that keep all threads busy; and of lines whose results are a thousand times as large as they are.
  static constexpr std::size_t kUsualBytes = std::size_t{1} << 18;
  static constexpr std::size_t kFewBytes = std::size_t{1} << 14;

  /// An empty `target`: none.
  LinePairReader(const std::string& source, const std::string& target, const std::stop_token& stop);

  /// Adds the next lines, of about so many bytes; false at the end. Error{kBadInput} if one file ends before the other.
  bool read(std::vector<pipeline::LinePair>& pairs, std::size_t bytes);
  std::uint64_t lines_read() const { return sources_.line_number(); }
  /// Of what was read.
  const pipeline::LineCounts& counts() const noexcept { return counts_; }

 private:
  core::LineReader sources_;
  std::unique_ptr<core::LineReader> targets_;
  pipeline::LineCounts counts_;
};

}  // namespace dragoman::cli
