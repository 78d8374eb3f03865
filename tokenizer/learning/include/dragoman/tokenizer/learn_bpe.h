#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/invalid_utf8.h>
#include <dragoman/tokenizer/memory_budget.h>
#include <dragoman/tokenizer/reproduce.h>

namespace dragoman::tokenizer {

enum class Normalization { kNone, kNfc, kNfkc };

struct LearnOptions {
  /// Number of pieces in all: special tokens, bytes, user symbols, characters and merged pieces.
  std::int32_t vocab_size = 32000;
  /// 0, or the smallest size that truncate() will be asked for: that it is possible is checked before, not after the
  /// merges have been learned.
  std::int32_t smallest_vocab_size = 0;
  /// A pair that occurs less often is not merged.
  std::uint64_t min_frequency = 2;
  /// Share of the corpus's characters that get a piece of their own; the rarest are left to byte fallback or the
  /// unknown token.
  double character_coverage = 1.0;
  /// Ids 0, 1, 2, ... in this order. `<unk>` among them is the unknown token.
  std::vector<std::string> special_tokens = {"<unk>", "<s>", "</s>"};
  /// Always one piece wherever they stand in the text, and never part of another.
  std::vector<std::string> user_symbols = {};
  bool byte_fallback = true;
  Normalization normalization = Normalization::kNone;
  bool lowercase = false;
  /// Normalise, and mark spaces, as SentencePiece does, instead of the two above: for a model of its kind, which is
  /// then the only one that can represent the vocabulary. Options that cut words further, and escapes, do not go with
  /// it.
  std::optional<SentencePieceNormalization> sentencepiece = {};
  /// Each digit is a word by itself (InnerCuts::digits).
  bool split_digits = false;
  /// Words end where an upper-case letter follows a lower-case one (InnerCuts::letter_case).
  bool split_case = false;
  /// Letters, numbers and other characters are words apart (InnerCuts::punctuation).
  bool split_punctuation = false;
  /// Regular expressions, in the syntax that docs/tokenizer.md describes: no piece reaches over either end of what they
  /// match in the normalised text, and no merge is learned from it. Where several match, the one that begins first
  /// counts, and of those the one that stands first here. With one that can match a space, or that looks at what
  /// follows a word, learning keeps distinct lines in memory and not words, and count files are refused.
  std::vector<std::string> protected_patterns = {};
  /// Words begin at spaces, which become part of the piece that follows. If false, pieces may reach over a whole line,
  /// but for spaces_apart.
  bool word_marks = true;
  /// For word_marks = false: words are what stands between spaces, with nothing in front, and each space is a piece of
  /// its own, kWordMark. Learning keeps distinct lines in memory, and count files are refused, as is min_word_count.
  bool spaces_apart = false;

  /// Whether a space is written as kWordMark, be it alone or in front of a word.
  bool spaces_are_marks() const noexcept { return word_marks || spaces_apart; }
  /// Whether a U+2581 of the text, which is what the word mark looks like, comes back as one: it is escaped in front of
  /// the merges. If false, it comes back as a space, as in SentencePiece.
  bool escape_marks = true;
  /// Words that occur less often in the corpus are left out, as if they were not there; how many stands on the log.
  std::uint64_t min_word_count = 1;
  /// Of text; count files are read as they are.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
  /// How much memory the process may use. The result does not depend on it, nor on where words are put meanwhile.
  MemoryBudget memory = {};
  /// Learn by the rules of another program instead of those of learn_bpe(), and with its options. Of those above,
  /// min_frequency, threads and what its struct names apply; of others, byte_fallback is not looked at, and any that is
  /// not left at its default is an Error{kInvalidArgument}.
  Reproduce reproduce = {};
};

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
/// where a disk is full, Error{kInterrupted} when `stop` asks. Warns on `log` if pairs run out before the size is
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
