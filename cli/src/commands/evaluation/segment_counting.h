#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include <dragoman/evaluation/metric.h>
#include <dragoman/evaluation/text_file.h>

namespace dragoman::cli {

/// Specifies which statistics count_texts() keeps.
enum class KeptStatistics {
  kSums,      ///< one row for the whole text, which is enough for scores
  kSegments,  ///< one row for each line, for resampling
};

/// The statistics of the translations of several systems.
struct CountedTexts {
  std::vector<std::vector<evaluation::SegmentStatistics>> statistics;  ///< [metrics][systems]
  std::vector<std::uint64_t> tokenized;                                ///< [systems]: the lines that end in " ."
};

/// Counts all lines of `texts`, whose files are the translations of the first system, `references` references, and the
/// translations of the other systems. Only one line of each file is in memory. Throws Error{kBadInput} if kSegments
/// would need more than 1 GiB, and Error{kInterrupted} after a stop request.
CountedTexts count_texts(const std::vector<std::unique_ptr<evaluation::Metric>>& metrics,
                         evaluation::ParallelTextReader& texts, std::size_t references, std::size_t systems,
                         KeptStatistics kept, const std::stop_token& stop);

}  // namespace dragoman::cli
