#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/invalid_utf8.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// What spm_train has options for, with its defaults except for byte_fallback.
struct LearnUnigramOptions {
  /// Number of pieces in all.
  std::int32_t vocab_size = 8000;
  /// Share of the normalised corpus's characters that get a piece of their own.
  double character_coverage = 0.9995;
  /// The frequent substrings that learning begins with.
  std::int64_t seed_size = 1'000'000;
  /// The share of the pieces that each round of pruning leaves.
  double shrinking_factor = 0.75;
  /// Rounds of expectation maximisation between two prunings.
  int sub_iterations = 2;
  /// In characters.
  int max_piece_length = 16;
  /// Ids 0, 1, 2, ... in this order; `<unk>` must be among them, the others are control symbols.
  std::vector<std::string> special_tokens = {"<unk>", "<s>", "</s>"};
  /// Always one piece wherever they stand in the text, never normalised and never part of another. Their ids follow the
  /// special tokens.
  std::vector<std::string> user_symbols = {};
  /// 256 byte pieces behind them, for characters without a piece; if false they become `<unk>`.
  bool byte_fallback = true;
  /// No piece holds characters of two scripts (Han, Hiragana and Katakana count as one).
  bool split_scripts = true;
  /// No piece holds a digit from 0 to 9 beside a letter.
  bool split_numbers = true;
  /// Each digit is a piece by itself.
  bool split_digits = false;
  /// No piece reaches over a space.
  bool split_whitespace = true;
  SentencePieceNormalization normalization = {};
  /// Words (lines where not split_whitespace) that occur less often in the corpus are left out.
  std::uint64_t min_word_count = 1;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
};

/// Learns a unigram language model of pieces (Kudo 2018) from text files (gzip and Zstandard are recognised, "-" is
/// standard input), by SentencePiece's procedure: the most frequent substrings of words, by their count times their
/// length, are the first pieces. Expectation maximisation, with the M-step exp(digamma(count)) / exp(digamma(total)),
/// alternates with pruning, which drops the pieces whose loss costs the likelihood of the corpus least, until the
/// vocabulary has its size. Expected counts are added up as whole numbers, so the result is the same to the bit for any
/// number of threads and any order of the files.
///
/// Throws Error{kBadInput} for a corpus without words, Error{kInvalidArgument} for options that cannot be met (the
/// message says the smallest vocabulary that can), Error{kInterrupted} when `stop` asks. Warns on `log` if the corpus
/// has fewer pieces than were asked for.
UnigramDefinition learn_unigram(const std::vector<std::filesystem::path>& inputs, const LearnUnigramOptions& options,
                                const core::ProgressSink& progress = {}, const core::LogSink& log = {},
                                std::stop_token stop = {});

/// The same from files that count_words() has written. Where learning has to see whole lines (the message says why) it
/// throws Error{kInvalidArgument}.
UnigramDefinition learn_unigram_from_counts(const std::vector<std::filesystem::path>& counts,
                                            const LearnUnigramOptions& options, const core::ProgressSink& progress = {},
                                            const core::LogSink& log = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
