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

struct CountOptions {
  /// Words that occur less often are left out; how many stands on the log. For parts of a corpus leave it at 1: a word
  /// that is rare in each part may be frequent in all.
  std::uint64_t min_count = 1;
  /// 0 means core::default_threads(). The output does not depend on it.
  int threads = 0;
  MemoryBudget memory = {};
  /// Of text; count files are read as they are.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
};

/// What a count file holds.
struct CountSummary {
  std::uint64_t words = 0;        ///< distinct ones, which is the number of lines
  std::uint64_t occurrences = 0;  ///< the sum of the counts
};

/// Writes how often each word occurs in text files (gzip and Zstandard are recognised, "-" is standard input): what
/// learn_bpe() does first. A word is what stands between spaces and line ends; a CR before LF belongs to the line end.
///
/// Each line is `COUNT<TAB>WORD<LF>`, in the order of the words' bytes, no word twice. There is no header, so that
/// `sort -m` can merge such files. The word ends at the LF and may hold any other byte but a space: tabs, CR, NUL, and
/// what is not UTF-8.
///
/// Does not commit `output`. Throws Error{kIo} for files that cannot be read or written, Error{kInvalidArgument} for a
/// budget that is too small to work in, Error{kInterrupted} when `stop` asks.
CountSummary count_words(const std::vector<std::filesystem::path>& inputs, core::OutputFile& output,
                         const CountOptions& options, const core::ProgressSink& progress = {},
                         const core::LogSink& log = {}, std::stop_token stop = {});

/// The same from count files instead of text: joins the counts of parts. The lines may come in any order. A malformed
/// line, or counts that add up to 2^63 or more, throw Error{kBadInput} naming file and line.
CountSummary merge_counts(const std::vector<std::filesystem::path>& counts, core::OutputFile& output,
                          const CountOptions& options, const core::ProgressSink& progress = {},
                          const core::LogSink& log = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
