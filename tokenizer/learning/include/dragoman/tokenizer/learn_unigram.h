#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/learn_unigram_options.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// Learns a unigram language model of pieces (Kudo 2018) from text files (gzip and Zstandard are recognised, "-" is
/// standard input), by SentencePiece's procedure: the most frequent substrings of words, by their count times their
/// length, are the first pieces. Expectation maximisation, with the M-step exp(digamma(count)) / exp(digamma(total)),
/// alternates with pruning, which drops the pieces whose loss costs the likelihood of the corpus least, until the
/// vocabulary has its size. Expected counts are added up as whole numbers, so the result is the same to the bit for any
/// number of threads and any order of the files.
///
/// Throws Error{kBadInput} for a corpus without words; Error{kInvalidArgument} for options that cannot be met, with the
/// smallest vocabulary that can; and Error{kInterrupted} when `stop` is requested. Warns on `log` if the corpus has
/// fewer pieces than requested.
UnigramDefinition learn_unigram(const std::vector<std::filesystem::path>& inputs, const LearnUnigramOptions& options,
                                const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                                std::stop_token stop = {});

/// Learns such a model from files that count_words() has written. Throws Error{kInvalidArgument} if learning has to
/// read whole lines; the message gives the reason.
UnigramDefinition learn_unigram_from_counts(const std::vector<std::filesystem::path>& counts,
                                            const LearnUnigramOptions& options, const core::ProgressSink& progress = {},
                                            const core::LogSink& log = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
