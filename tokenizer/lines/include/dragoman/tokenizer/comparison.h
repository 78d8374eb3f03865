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
  std::string first;   ///< the line of pieces or ids from the first tokenizer, without line feed
  std::string second;
};

/// The result of compare_tokenizers().
struct Comparison {
  std::uint64_t lines = 0;
  std::uint64_t different = 0;
  std::vector<LineDifference> differences;  ///< the first ones
};

/// Encodes every line of the text file `corpus` with both tokenizers and compares the lines that encode_lines() would
/// write, with the unknown piece for text without a piece. Keeps the first `shown` differences. If a tokenizer cannot
/// encode a line, the line counts as different and the error message replaces the encoded line. Throws Error{kIo},
/// Error{kInterrupted}, and Error{kUnsupported} like encode_lines().
///
///     const auto ours = load_tokenizer("tokenizer.json");           // tokenizer_files.h
///     const auto theirs = load_tokenizer("source.spm");
///     const Comparison comparison = compare_tokenizers(*ours, *theirs, "train.de", {}, /*shown=*/10);
///     std::cout << comparison.different << " of " << comparison.lines << " lines differ\n";
Comparison compare_tokenizers(const Tokenizer& first, const Tokenizer& second, const std::filesystem::path& corpus,
                              const LineCodingOptions& options, std::size_t shown,
                              const core::ProgressSink& progress = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
