#pragma once

#include "dragoman/tokenizer/line_coding.h"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>

namespace dragoman::tokenizer {

/// A line that two tokenizers encode differently.
struct LineDifference {
  std::uint64_t line;  ///< from 1
  std::string first;   ///< the line of pieces or ids that the first one gives, without line feed
  std::string second;
};

struct Comparison {
  std::uint64_t lines = 0;
  std::uint64_t different = 0;
  std::vector<LineDifference> differences;  ///< the first ones
};

/// Encodes every line of the text file `corpus` with both and compares what encode_lines() would write, but with the
/// unknown piece in place of text that has no piece; keeps the first `shown` differences. A tokenizer that cannot
/// encode a line counts as different there, with its error as the line.
/// Throws Error{kIo}, Error{kInterrupted}, and Error{kUnsupported} as encode_lines().
Comparison compare_tokenizers(const Tokenizer& first, const Tokenizer& second, const std::filesystem::path& corpus,
                              const LineCodingOptions& options, std::size_t shown,
                              const core::ProgressSink& progress = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
