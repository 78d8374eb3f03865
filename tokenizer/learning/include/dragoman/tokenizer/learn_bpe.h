#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe_options.h>

namespace dragoman::tokenizer {

/// Throws Error{kBadInput} with the pattern, the offset in it and the reason unless it is valid in
/// LearnOptions::protected_patterns.
void check_protected_pattern(const std::string& pattern);

/// Learns a BPE vocabulary from text files. gzip and Zstandard are detected, and "-" is standard input. Several files
/// give a joint vocabulary.
///
///     const BpeTokenizer tokenizer = learn_bpe({"train.de", "train.en"}, {.vocab_size = 8000});
///
/// A merge joins the most frequent pair of neighbouring pieces inside words. Ties go to the pair whose left piece has
/// the smaller id, then to the one whose right piece has. In a run of equal pieces, occurrences are counted without
/// overlap from left to right: `aaa` contains (a, a) once. Counts have 64 bits.
///
/// The order of ids is: special tokens, 256 bytes, user symbols, characters by falling count and then by code point,
/// merged pieces in the order of the merges.
///
/// The result owns its data: the files may change afterwards.
///
/// Warns on `log` if pairs run out before the vocabulary has its size. Throws
///
/// - Error{kBadInput} for a corpus without words and for an invalid pattern,
/// - Error{kInvalidArgument} for options that cannot be met, with the smallest vocabulary or memory budget that can,
/// - Error{kIo} if a disk is full,
/// - Error{kUnsupported}, before reading, if the kind LearnOptions::written_as cannot represent the options, and
/// - Error{kInterrupted} if `stop` is requested.
BpeTokenizer learn_bpe(const std::vector<std::filesystem::path>& inputs, const LearnOptions& options,
                       const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                       std::stop_token stop = {});

/// Learns a vocabulary from files written by count_words(), for the whole corpus or parts of it. The counts of a word
/// that occurs in several lines are added. The vocabulary is the same, to the byte, as when learned from the text.
/// Throws Error{kBadInput} that names file and line for a malformed line, and for counts whose sum is 2^63 or more.
BpeTokenizer learn_bpe_from_counts(const std::vector<std::filesystem::path>& counts, const LearnOptions& options,
                                   const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                                   std::stop_token stop = {});

}  // namespace dragoman::tokenizer
