#pragma once

#include "dragoman/tokenizer/memory_budget.h"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/log.h>
#include <dragoman/tokenizer/invalid_utf8.h>

namespace dragoman::tokenizer {

/// The options of count_words().
struct CountOptions {
  /// Words that occur less often are omitted, and their number is logged. Use 1 for the parts of a corpus, because a
  /// word that is rare in each part may be frequent overall.
  std::uint64_t min_count = 1;
  /// 0 means core::default_threads(). The output does not depend on it.
  int threads = 0;
  MemoryBudget memory = {};
  /// The treatment of invalid UTF-8 in text. Count files are read unchanged.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
};

/// The totals of a count file.
struct CountSummary {
  std::uint64_t words = 0;        ///< distinct words, which is the number of lines
  std::uint64_t occurrences = 0;  ///< the sum of the counts
};

/// Counts how often each word occurs in text files, and writes a count file. This is the first step of learn_bpe().
/// gzip and Zstandard are detected, and "-" is standard input. Words are separated by spaces and line ends; a CR before
/// LF belongs to the line end.
///
///     core::OutputFile output("train.counts");
///     const CountSummary summary = count_words({"train.de", "train.en"}, output, {.min_count = 1});
///     output.commit();
///
/// Each line is `COUNT<TAB>WORD<LF>`. Lines are sorted by the words' bytes, and no word occurs twice. There is no
/// header, so `sort -m` can merge such files. The word ends at the LF and may contain any other byte except a space:
/// tabs, CR, NUL, and invalid UTF-8.
///
/// Does not commit `output`. Throws Error{kIo} for files that cannot be read or written, Error{kInvalidArgument} for a
/// memory budget that is too small, and Error{kInterrupted} if `stop` is requested.
CountSummary count_words(const std::vector<std::filesystem::path>& inputs, core::OutputFile& output,
                         const CountOptions& options, const core::ProgressSink& progress = {},
                         const core::LogSink& log = {}, std::stop_token stop = {});

/// Joins count files, for example of the parts of a corpus. Their lines may be in any order. Throws Error{kBadInput}
/// with file and line for a malformed line, and for counts whose sum is 2^63 or more.
CountSummary merge_counts(const std::vector<std::filesystem::path>& counts, core::OutputFile& output,
                          const CountOptions& options, const core::ProgressSink& progress = {},
                          const core::LogSink& log = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
