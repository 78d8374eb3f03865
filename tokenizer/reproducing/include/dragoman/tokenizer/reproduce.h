#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace dragoman::tokenizer {

/// Learn what `subword-nmt learn-bpe` 0.3.8 learns, merge for merge: written as codes, the result is its file, byte for
/// byte. `learn-joint-bpe-and-vocab` learns the same from all its inputs.
///
/// Its rules, as far as they differ from ours: every neighbouring pair counts, also where occurrences overlap (`aaa`
/// holds (a, a) twice); of equal counts, the pair whose left symbol is the larger string is merged, then the one whose
/// right symbol is; words end in `</w>`; learning stops after `merges` merges or at a pair below
/// LearnOptions::min_frequency. docs/tokenizer.md lists the side effects of its bookkeeping, which are reproduced, too.
struct ReproduceSubwordNmt {
  /// Its --symbols.
  std::int32_t merges = 10000;
  /// Its --total-symbols: the distinct characters inside words, and those at their end, are taken off `merges`.
  bool total_symbols = false;
};

/// Learn what the BpeTrainer of Hugging Face `tokenizers` 0.23 learns from the lines of the text without their ends:
/// its pieces, ids and merges. LearnOptions::vocab_size, min_frequency (whose default there is 0) and special_tokens
/// are its options of these names.
///
/// Its rules, as far as they differ from ours: special tokens come first, then the characters by code point; every
/// neighbouring pair counts, also where occurrences overlap; what is left of a character outside the alphabet becomes
/// the neighbour of what is right of it; the count of a merged pair is kept, and added to if the pair comes up again.
struct ReproduceTokenizers {
  /// How its pre-tokenizer cuts lines.
  enum class Words {
    kMetaspace,   ///< Metaspace(): a `▁` in front of each word
    kSpaces,      ///< Split(" ", "removed")
    kWhiteSpace,  ///< WhitespaceSplit()
    kByteLevel,   ///< ByteLevel(add_prefix_space), words as GPT-2's pattern cuts them
  };
  Words words = Words::kMetaspace;
  /// kByteLevel: a line that does not begin with a space gets one.
  bool add_prefix_space = false;
  /// kByteLevel: all 256 bytes have a piece (its initial_alphabet=ByteLevel.alphabet()), not only those of the text.
  bool all_bytes = true;
  /// Its limit_alphabet: the most frequent characters have pieces. Which of several with equal counts do, it leaves to
  /// chance; here, those of smaller code points.
  std::optional<std::size_t> limit_alphabet = {};
  /// Its max_token_length; 0: none.
  std::size_t max_token_length = 0;
  /// kSpaces, kWhiteSpace: its end_of_word_suffix. It numbers the characters that end words by chance, so that every
  /// run of it has other ids and, among pairs of equal counts, other merges; here they follow the alphabet by code
  /// point.
  std::string end_of_word_suffix = {};
};

/// Another program whose learner is reproduced; none: our own rules.
using Reproduce = std::variant<std::monostate, ReproduceSubwordNmt, ReproduceTokenizers>;

}  // namespace dragoman::tokenizer
