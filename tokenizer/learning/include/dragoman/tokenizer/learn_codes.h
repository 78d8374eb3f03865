#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/log.h>

namespace dragoman::tokenizer {

/// A distinct word of a corpus and the number of its occurrences.
struct CodesWord {
  std::string_view text;
  std::uint64_t count;
};

/// The options of learn_codes().
struct LearnCodesOptions {
  std::size_t merges = 10000;
  /// Learning ends at a pair that occurs less often. At least 1.
  std::int64_t min_frequency = 2;
};

/// Learns the merges that `subword-nmt learn-bpe` 0.3.8 learns from these words: written line by line after
/// `#version: 0.2`, they are its file, to the byte. learn_bpe() is faster and has exact counts; this function is for
/// the drop-in `dragoman.compat.subword_nmt`, whose users compare codes.
///
///     const std::vector<CodesWord> words{{"low", 5}, {"lower", 2}};
///     for (const auto& [left, right] : learn_codes(words, {.merges = 3})) std::cout << left << ' ' << right << '\n';
///
/// The rules that differ from learn_bpe(): the last character of a word ends in `</w>`; each neighbouring pair counts,
/// also where occurrences overlap (`aaa` contains (a, a) twice); ties go to the pair whose left symbol is the larger
/// string, then to the one whose right symbol is. The bookkeeping of counts is reproduced with its side effects.
///
/// Throws Error{kBadInput} for a word that is not valid UTF-8, and Error{kInterrupted} if `stop` is requested.
std::vector<std::pair<std::string, std::string>> learn_codes(std::span<const CodesWord> words,
                                                             const LearnCodesOptions& options = {},
                                                             const core::ProgressSink& progress = {},
                                                             const std::stop_token& stop = {});

}  // namespace dragoman::tokenizer
