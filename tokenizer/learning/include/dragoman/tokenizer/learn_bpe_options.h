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

enum class Normalization { kNone, kNfc, kNfkc };

struct LearnOptions {
  /// Number of pieces in all: special tokens, bytes, user symbols, characters and merged pieces.
  std::int32_t vocab_size = 32000;
  /// 0, or the smallest size that truncate() will be asked for: that it is possible is checked before, not after the
  /// merges have been learned.
  std::int32_t smallest_vocab_size = 0;
  /// A pair that occurs less often is not merged.
  std::uint64_t min_frequency = 2;
  /// The characters of the longest piece that merges may make, the word mark among them; 0: any length. SentencePiece
  /// has 16.
  std::int32_t max_piece_length = 0;
  /// The share of the corpus's characters that become pieces. The rarest characters are left to byte fallback or the
  /// unknown token.
  double character_coverage = 1.0;
  /// Ids 0, 1, 2, ... in this order. `<unk>` among them is the unknown token.
  std::vector<std::string> special_tokens = {"<unk>", "<s>", "</s>"};
  /// Strings that are always one piece, wherever they occur in the text, and never part of another.
  std::vector<std::string> user_symbols = {};
  bool byte_fallback = true;
  Normalization normalization = Normalization::kNone;
  bool lowercase = false;
  /// Normalises and marks spaces as SentencePiece does, instead of the two options above. The vocabulary can then be
  /// written as a SentencePiece model only. It excludes escapes and the options that cut words further.
  std::optional<SentencePieceNormalization> sentencepiece = {};
  /// The kind of file that the vocabulary will be written as. Whether it can represent one of these options is checked
  /// before the corpus is read, and pieces that it has no place for are not learned. None: any kind, checked when it is
  /// written.
  std::optional<FileKind> written_as = {};
  /// Each digit is a separate word (InnerCuts::digits).
  bool split_digits = false;
  /// Words end where an upper-case letter follows a lower-case one (InnerCuts::letter_case).
  bool split_case = false;
  /// Letters, numbers and other characters are separate words (InnerCuts::punctuation).
  bool split_punctuation = false;
  /// Regular expressions, in the syntax that docs/guides/tokenizer.md describes. No piece crosses either end of a
  /// match in the normalised text, and no merge is learned from a match. If several expressions match, the match that
  /// begins first applies; at one position, the expression that is first in this list. If an expression can match a
  /// space, or reads the text after a word, learning keeps distinct lines in memory instead of words, and count files
  /// are refused.
  std::vector<std::string> protected_patterns = {};
  /// Words begin at spaces, which become part of the piece that follows. If false, pieces may span a whole line, unless
  /// spaces_apart is set.
  bool word_marks = true;
  /// For word_marks = false: words are the texts between spaces, without a mark, and each space is a separate piece,
  /// kWordMark. Learning keeps distinct lines in memory. Count files and min_word_count are refused.
  bool spaces_apart = false;

  /// Whether a space is written as kWordMark, be it alone or in front of a word.
  bool spaces_are_marks() const noexcept { return word_marks || spaces_apart; }
  /// Whether a U+2581 in the text, the character of the word mark, is restored by decoding: it is escaped before the
  /// merges. If false, it is decoded as a space, as in SentencePiece.
  bool escape_marks = true;
  /// Words that occur less often in the corpus are left out. Their number is logged.
  std::uint64_t min_word_count = 1;
  /// The treatment of invalid UTF-8 in text. Count files are read unchanged.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
  /// The memory that the process may use. The result depends neither on it nor on the place where words are stored
  /// meanwhile.
  MemoryBudget memory = {};
};

}  // namespace dragoman::tokenizer
