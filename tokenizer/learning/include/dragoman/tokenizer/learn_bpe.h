#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe_options.h>

namespace dragoman::tokenizer {

/// Throws Error{kBadInput}, naming the pattern, the offset in it and the reason, unless
/// LearnOptions::protected_patterns takes it.
void check_protected_pattern(const std::string& pattern);

/// Learns a vocabulary from text files (gzip and Zstandard are recognised, "-" is standard input); several files give a
/// joint one.
///
/// A merge joins the pair of neighbouring pieces that occurs most often inside words; of pairs with equal counts the
/// one whose left piece has the smaller id comes first, then the one whose right piece has. In a run of equal pieces
/// occurrences are counted without overlap, from left to right: `aaa` holds (a, a) once. Counts have 64 bits. Ids:
/// special tokens, 256 bytes, user symbols, characters by falling count and then by code point, merged pieces in the
/// order of their making.
///
/// Throws Error{kBadInput} for a corpus without words and for a pattern that is none, Error{kInvalidArgument} for
/// options that cannot be met (the message says the smallest vocabulary, or the smallest budget, that can), Error{kIo}
/// where a disk is full, Error{kUnsupported} at once if LearnOptions::written_as cannot represent what the options ask
/// for, Error{kInterrupted} when `stop` asks. Warns on `log` if pairs run out before the size is
/// reached.
BpeTokenizer learn_bpe(const std::vector<std::filesystem::path>& inputs, const LearnOptions& options,
                       const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                       std::stop_token stop = {});

/// The same from files that count_words() has written, of the whole corpus or of its parts: the counts of a word that
/// stands in several lines are added. The vocabulary is the one that the text itself would give, to the byte. A
/// malformed line, or counts that add up to 2^63 or more, throw Error{kBadInput} naming file and line.
BpeTokenizer learn_bpe_from_counts(const std::vector<std::filesystem::path>& counts, const LearnOptions& options,
                                   const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                                   std::stop_token stop = {});

}  // namespace dragoman::tokenizer
