#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/invalid_utf8.h>

namespace dragoman::tokenizer {

/// The options of learn_unigram(). They are options of spm_train, with its defaults except for byte_fallback.
struct LearnUnigramOptions {
  /// The number of pieces in all.
  std::int32_t vocab_size = 8000;
  /// The share of the normalised corpus's characters that become pieces.
  double character_coverage = 0.9995;
  /// The number of frequent substrings with which learning begins.
  std::int64_t seed_size = 1'000'000;
  /// The share of the pieces that is kept in each round of pruning.
  double shrinking_factor = 0.75;
  /// The rounds of expectation maximisation between two prunings.
  int sub_iterations = 2;
  /// The maximum length of a piece in characters.
  int max_piece_length = 16;
  /// The tokens with ids 0, 1, 2, ... in this order. `<unk>` must be among them, the others are control symbols.
  std::vector<std::string> special_tokens = {"<unk>", "<s>", "</s>"};
  /// Strings that are always one piece, wherever they occur in the text. They are never normalised, and never part of
  /// another piece. Their ids follow the special tokens.
  std::vector<std::string> user_symbols = {};
  /// Adds 256 byte pieces after the user symbols, for characters without a piece. If false, such characters become
  /// `<unk>`.
  bool byte_fallback = true;
  /// No piece contains characters of two scripts (Han, Hiragana and Katakana count as one).
  bool split_scripts = true;
  /// No piece contains both a letter and a digit from 0 to 9.
  bool split_numbers = true;
  /// Each digit is a separate piece.
  bool split_digits = false;
  /// No piece crosses a space.
  bool split_whitespace = true;
  /// Pieces may consist of several spaces. Without it, each space of a run begins a word. Only for a normalisation that
  /// keeps runs of spaces.
  bool whitespace_pieces = false;
  /// The normalisation of texts, as in spm_train. learn_unigram() makes the character map of the name if
  /// `character_map` is empty.
  SentencePieceNormalization normalization = {.name = "nmt_nfkc", .character_map = {}};
  /// Words (lines if split_whitespace is false) that occur less often in the corpus are omitted.
  std::uint64_t min_word_count = 1;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
};

}  // namespace dragoman::tokenizer
