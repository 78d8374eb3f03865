#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/file_kind.h>
#include <dragoman/tokenizer/invalid_utf8.h>
#include <dragoman/tokenizer/memory_budget.h>

namespace dragoman::tokenizer {

/// The Unicode normalisation form that a learned tokenizer applies to texts.
enum class Normalization { kNone, kNfc, kNfkc };

/// The options of learn_bpe().
struct LearnOptions {
  /// The number of pieces in all: special tokens, bytes, user symbols, characters and merged pieces.
  std::int32_t vocab_size = 32000;
  /// 0, or the smallest size for which truncate() will be called. learn_bpe() verifies before it learns that this size
  /// is possible.
  std::int32_t smallest_vocab_size = 0;
  /// Pairs that occur less often are not merged.
  std::uint64_t min_frequency = 2;
  /// The maximum length in characters of a piece that merges produce, including its word mark. 0: no limit.
  /// SentencePiece has 16.
  std::int32_t max_piece_length = 0;
  /// The share of the corpus's characters that become pieces. The rarest characters are left to byte fallback or the
  /// unknown token.
  double character_coverage = 1.0;
  /// The tokens with ids 0, 1, 2, ... in this order. `<unk>` is the unknown token.
  std::vector<std::string> special_tokens = {"<unk>", "<s>", "</s>"};
  /// Strings that are always one piece, wherever they occur in the text, and never part of another piece.
  std::vector<std::string> user_symbols = {};
  bool byte_fallback = true;
  Normalization normalization = Normalization::kNone;
  bool lowercase = false;
  /// Normalises and marks spaces as SentencePiece does, instead of the two options above. The vocabulary can then be
  /// written only as a SentencePiece model. This excludes escapes and the options that split words further. learn_bpe()
  /// makes the character map of the name if `character_map` is empty.
  std::optional<SentencePieceNormalization> sentencepiece = {};
  /// The kind of file that the vocabulary will be written as. learn_bpe() verifies before it reads the corpus that the
  /// kind can represent these options, and learns no pieces that the kind cannot store. If not set, this is verified
  /// only when the vocabulary is written.
  std::optional<FileKind> written_as = {};
  /// Each digit is a separate word (InnerCuts::digits).
  bool split_digits = false;
  /// Words end between a lower-case and an upper-case letter (InnerCuts::letter_case).
  bool split_case = false;
  /// Letters, numbers and other characters are separate words (InnerCuts::punctuation).
  bool split_punctuation = false;
  /// Regular expressions, in the syntax that docs/guides/tokenizer.md describes. No piece crosses either end of a match
  /// in the normalised text, and no merge is learned from a match. If several expressions match, the match that begins
  /// first applies; at one position, the expression that is first in this list. If an expression can match a space, or
  /// reads the text after a word, learning keeps distinct lines in memory instead of words, and count files are
  /// refused.
  std::vector<std::string> protected_patterns = {};
  /// Words begin at spaces, which become part of the next piece. If false, pieces may span a whole line, unless
  /// spaces_apart is set.
  bool word_marks = true;
  /// For word_marks = false: words are the texts between spaces, without a mark, and each space is a separate piece,
  /// kWordMark. Learning keeps distinct lines in memory. Count files and min_word_count are refused.
  bool spaces_apart = false;

  /// Returns whether a space is written as kWordMark, alone or at the start of a word.
  bool spaces_are_marks() const noexcept { return word_marks || spaces_apart; }
  /// Whether decoding restores a U+2581 of the text, the character of the word mark. It is then escaped before the
  /// merges. If false, it is decoded as a space, as in SentencePiece.
  bool escape_marks = true;
  /// Words that occur less often in the corpus are omitted. Their number is logged.
  std::uint64_t min_word_count = 1;
  /// The treatment of invalid UTF-8 in text. Count files are read unchanged.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
  /// The memory that the process may use. The result depends neither on it nor on the folder where words are stored
  /// temporarily.
  MemoryBudget memory = {};
};

}  // namespace dragoman::tokenizer
