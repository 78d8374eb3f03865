#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/learn_unigram_options.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// Learns a unigram language model of pieces (Kudo 2018) from text files, by SentencePiece's procedure. gzip and
/// Zstandard are detected, and "-" is standard input.
///
///     const UnigramDefinition definition = learn_unigram({"train.de", "train.en"}, {.vocab_size = 8000});
///     write_tokenizer_file(definition, FileKind::kSentencePiece, "joint.spm");     // tokenizer_files.h
///
/// The initial pieces are the substrings of words with the highest product of count and length. Expectation
/// maximisation, with the M-step exp(digamma(count)) / exp(digamma(total)), alternates with pruning until the
/// vocabulary has its size. Pruning drops the pieces whose loss reduces the likelihood of the corpus least. Expected
/// counts are summed as integers, so the result has the same bits for any number of threads and any order of the files.
///
/// Throws Error{kBadInput} for a corpus without words; Error{kInvalidArgument} for options that cannot be met, with the
/// smallest vocabulary that can; and Error{kInterrupted} if `stop` is requested. Warns on `log` if the corpus has fewer
/// pieces than requested.
UnigramDefinition learn_unigram(const std::vector<std::filesystem::path>& inputs, const LearnUnigramOptions& options,
                                const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                                std::stop_token stop = {});

/// Learns a unigram model from files written by count_words(). Throws Error{kInvalidArgument} with the reason if
/// learning must read whole lines.
UnigramDefinition learn_unigram_from_counts(const std::vector<std::filesystem::path>& counts,
                                            const LearnUnigramOptions& options, const core::ProgressSink& progress = {},
                                            const core::LogSink& log = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
