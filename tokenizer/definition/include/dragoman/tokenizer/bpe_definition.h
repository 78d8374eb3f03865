#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/word_mark.h>

namespace dragoman::tokenizer {

/// A rule of byte pair encoding: `left` followed by `right` becomes `result`. The rank of a merge is its position in
/// the list; a lower rank is applied first. Two merges that spell one string have the same `result`.
struct Merge {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
  bool operator==(const Merge&) const = default;
};

/// A piece that is matched as a whole in the text before anything else happens to it.
struct AddedToken {
  std::int32_t id;
  /// Special tokens (`<s>`, ...) are matched only on request and vanish in decoding; the others are user-defined
  /// symbols, always matched.
  bool special;
  /// Whether the vocabulary of the model lists it, too, as the files that we write do.
  bool in_vocabulary = true;
  bool operator==(const AddedToken&) const = default;
};

/// One step of normalisation, named as in `tokenizer.json` where it has the step.
struct NormalizerStep {
  enum class Kind {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kPrepend,
    kReplace,
    kTrimStart,
    kTrimEnd,
    kSqueeze,
    kPrecompiled,  ///< looks grapheme clusters up in a SentencePiece character map, as the library tokenizers does
  };
  Kind kind;
  /// kReplace: every occurrence of this text becomes `content`. kTrimStart, kTrimEnd: repetitions of it at the start or
  /// the end vanish. kSqueeze: repetitions of it become one; these three know only space and kWordMark.
  std::string pattern;
  /// kReplace; kPrepend: what goes in front of a text that is not empty; kPrecompiled: the map, serialised.
  std::string content;
  bool operator==(const NormalizerStep&) const = default;
};

/// What a SentencePiece model says about normalisation.
struct SentencePieceNormalization {
  std::string name = "identity";    ///< of the character map
  std::string character_map;        ///< serialised; empty: characters stay as they are
  bool dummy_prefix = true;         ///< a space is put in front of a text that is not empty
  bool remove_extra_spaces = true;  ///< at both ends, and all but one in between
  bool escape_spaces = true;        ///< spaces are written as kWordMark
  bool space_as_suffix = false;     ///< the dummy prefix goes behind the text instead
  bool operator==(const SentencePieceNormalization&) const = default;
};

struct Replacement {
  std::string pattern;
  std::string content;
  bool operator==(const Replacement&) const = default;
};

/// The pre-tokenizer Metaspace writes spaces as kWordMark and puts one in front of these stretches of text, unless it
/// is there.
enum class PrependScheme {
  kAlways,  ///< all between added tokens
  kFirst,   ///< that at the beginning of the text
  kNever,
};

/// How ids become text again: the text of each piece, changed by `replacements`; a byte piece `<0xNN>` gives its byte;
/// `word_suffix` becomes a space, or nothing in the last piece; with `byte_level` the characters of GPT-2's alphabet
/// become bytes; with `metaspace`, kWordMark becomes a space, or, but for kNever, nothing in the first piece that is no
/// special token; all is joined; `escapes` are undone; a space that follows a user-defined symbol is dropped; up to
/// `strip_count` times `strip` is removed at the start.
struct DecoderDefinition {
  std::vector<Replacement> replacements;
  bool byte_fallback = false;
  bool byte_level = false;
  std::string word_suffix;
  std::optional<PrependScheme> metaspace;
  bool drop_space_after_symbols = false;
  std::string strip;
  std::size_t strip_count = 0;
  /// What the normaliser writes for characters that pieces mean something else by, and those characters: each two
  /// characters, U+241B and one from U+2400 to U+2423, for one; that of U+241B itself is the last.
  std::vector<Replacement> escapes = {};
  bool operator==(const DecoderDefinition&) const = default;
};

/// How a text is cut into words, inside which merges stay. The patterns are known by name.
enum class WordSplit {
  kBefore,         ///< a word begins at each occurrence of `split_pattern`; empty: the whole text is one word
  kBetween,        ///< words stand between occurrences of `split_pattern`, which vanish
  kWhiteSpace,     ///< words stand between characters that Unicode calls white space, which vanish
  kGpt2,           ///< GPT-2's pattern: letters, digits or other characters with a space in front, and contractions
  kCl100k,         ///< the pattern of tiktoken's cl100k_base
  kCl100kVariant,  ///< its earlier spelling, which cuts runs of line ends and spaces at the end of a text otherwise
};

/// How a word ends for the merges.
enum class EndOfWord {
  kNone,
  kAttached,  ///< the suffix is part of the last character's piece (subword-nmt 0.2, fastBPE, tokenizer.json)
  kSeparate,  ///< the suffix is a symbol of its own behind the last character (subword-nmt 0.1)
};

/// Everything that a `tokenizer.json` of the supported kind says, and nothing derived from it; what other files say
/// beyond that stands at the end.
struct BpeDefinition {
  std::vector<std::string> pieces;  ///< by id; each is valid UTF-8, not empty, and unique
  std::vector<Merge> merges;        ///< by rank
  std::vector<AddedToken> added_tokens;
  std::optional<std::int32_t> unknown;
  bool byte_fallback = false;  ///< a character outside the vocabulary becomes its UTF-8 bytes `<0xNN>`
  bool fuse_unknown = false;   ///< a run of unknown characters becomes one unknown piece
  bool ignore_merges = false;  ///< a word that is a piece is that piece, whatever the merges say
  std::vector<NormalizerStep> normalizer;
  std::optional<PrependScheme> metaspace;  ///< behind `normalizer`
  WordSplit split = WordSplit::kBefore;
  std::string split_pattern;  ///< of kBefore and kBetween
  /// Each character of Unicode's category N is a word by itself, whatever `split` says of its neighbours.
  bool split_digits = false;
  /// Words end where a lower-case letter (Unicode's category Ll) stands before an upper-case one (Lu), as in camelCase.
  bool split_case = false;
  /// Letters (Unicode's category L), numbers (N) and runs of other characters are words of their own. Combining marks
  /// (M) go with the letters or numbers that they follow, and a word mark with what follows it.
  bool split_punctuation = false;
  /// Empty, or a regular expression: what it matches in normalised text is apart from what stands on both sides, before
  /// `split` and the others cut it further. Its syntax is the part of Oniguruma's that docs/tokenizer.md lists.
  std::string protected_pattern;
  /// Words are bytes, and pieces are spelled in GPT-2's alphabet of 256 printable characters that stand for them.
  bool byte_level = false;
  bool add_prefix_space = false;  ///< with byte_level: a text that does not begin with a space gets one
  EndOfWord end_of_word = EndOfWord::kNone;
  std::string end_of_word_suffix;  ///< empty exactly if there is none
  DecoderDefinition decoder;
  std::string post_processor;  ///< JSON, kept as it was read; it adds special tokens, which `encode` does not

  /// Lines of pieces are written as subword-nmt does: this behind a piece that does not end its word, no suffix behind
  /// one that does, and unknown characters as they are. Empty: pieces are written as they are spelled above.
  std::string continuation_mark;
  /// All occurrences of the best merge in a word are merged before the next is looked for. That differs from one after
  /// the other only if a merge stands before one that makes its left or right side.
  bool merge_in_rounds = false;
  /// Codes: empty, or the rank of the merge on each line, where some stand on several lines. The first one counts.
  std::vector<std::size_t> code_lines;
  /// Codes: regular expressions as Python understands them, subword-nmt's --glossaries. What they match in a word is an
  /// unknown piece, which lines show as it stands; what is left of the word is encoded part by part.
  std::vector<std::string> glossaries;
  /// Empty, or by id: the pieces that are written in place of a piece outside a restricted vocabulary (none: itself).
  std::vector<std::vector<std::int32_t>> expansions;
  /// In place of `normalizer` and `decoder` (but for its byte_fallback): what SentencePiece does character by character
  /// and steps, one after the other, could not. User-defined symbols are kept from it, looked for in its result, and no
  /// text begins behind them.
  std::optional<SentencePieceNormalization> sentencepiece;
  /// Pieces that have an id but are not made from text. Merges may make them on the way to others; where one is left,
  /// it has an expansion.
  std::vector<std::int32_t> unused;
};

}  // namespace dragoman::tokenizer
