#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
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

/// What is done to a text, one step after the other.
using NormalizerSteps = std::vector<NormalizerStep>;

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

/// Where words are cut further, apart from marks. The pattern comes first, then what the words consist of.
struct InnerCuts {
  /// Each character of Unicode's category N is a word by itself, whatever its neighbours are.
  bool digits = false;
  /// Words end where a lower-case letter (Unicode's category Ll) stands before an upper-case one (Lu), as in camelCase.
  bool letter_case = false;
  /// Letters (Unicode's category L), numbers (N) and runs of other characters are words of their own. Combining marks
  /// (M) go with the letters or numbers that they follow, and a word mark with what follows it.
  bool punctuation = false;
  /// Empty, or a regular expression: what it matches in normalised text is apart from what stands on both sides, before
  /// marks and the others cut it further. Its syntax is the part of Oniguruma's that docs/guides/tokenizer.md lists.
  std::string protected_pattern = {};

  /// Whether the pattern, or the last of several, is kWordMark, so that each space is a word by itself.
  bool spaces_apart() const;
  bool any() const { return digits || letter_case || punctuation || !protected_pattern.empty(); }
  bool operator==(const InnerCuts&) const = default;
};

/// A word begins at each occurrence of `mark`; empty: the whole text is one word.
struct SplitBefore {
  std::string mark = {};
  InnerCuts inner = {};
  bool operator==(const SplitBefore&) const = default;
};

/// Words stand between occurrences of `separator`, which vanish.
struct SplitBetween {
  std::string separator;  ///< not empty
  bool operator==(const SplitBetween&) const = default;
};

/// Words stand between characters that Unicode calls white space, which vanish.
struct WhitespaceSplit {
  bool operator==(const WhitespaceSplit&) const = default;
};

/// In front of which stretches of text Metaspace puts a kWordMark, unless it is there.
enum class PrependScheme {
  kAlways,  ///< all between added tokens
  kFirst,   ///< that at the beginning of the text
  kNever,
};

/// Spaces are written as kWordMark, and one is put in front.
struct Metaspace {
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;  ///< a word begins at each mark; if not, the whole text is one word
  bool operator==(const Metaspace&) const = default;
};

/// How a normalised text is cut into words, inside which merges stay.
using PreTokenizerDefinition = std::variant<SplitBefore, SplitBetween, WhitespaceSplit, Metaspace>;

struct Replacement {
  std::string pattern;
  std::string content;
  bool operator==(const Replacement&) const = default;
};

/// What is removed from the start of a text.
struct Strip {
  std::string character;
  std::size_t most = 1;  ///< how often, at least 1
  bool operator==(const Strip&) const = default;
};

/// How ids become text again: the text of each piece, changed by `replacements`; a byte piece `<0xNN>` gives its byte;
/// all is joined; `escapes` are undone; a space that follows a user-defined symbol is dropped; the start is stripped.
struct DecoderSteps {
  std::vector<Replacement> replacements = {};
  bool byte_fallback = false;
  /// What the normaliser writes for characters that pieces mean something else by, and those characters: each two
  /// characters, U+241B and one from U+2400 to U+2423, for one; that of U+241B itself is the last.
  std::vector<Replacement> escapes = {};
  bool drop_space_after_symbols = false;
  std::optional<Strip> strip = {};
  bool operator==(const DecoderSteps&) const = default;
};

/// kWordMark becomes a space, or, but for kNever, nothing in the first piece that is no special token; all is joined.
struct MetaspaceDecoder {
  PrependScheme prepend = PrependScheme::kAlways;
  bool operator==(const MetaspaceDecoder&) const = default;
};

using DecoderDefinition = std::variant<DecoderSteps, MetaspaceDecoder>;

/// Words are characters, and what becomes of spaces is said step by step.
struct CharacterText {
  NormalizerSteps normalizer = {};
  PreTokenizerDefinition pre_tokenizer = {};
  bool byte_fallback = false;  ///< a character outside the vocabulary becomes its UTF-8 bytes `<0xNN>`
  DecoderDefinition decoder = {};
  bool operator==(const CharacterText&) const = default;
};

/// What only codes of subword-nmt and fastBPE say. With them all occurrences of the best merge in a word are merged
/// before the next is looked for. That differs from one after the other only if a merge stands before one that makes
/// its left or right side.
struct Codes {
  std::string separator = "@@";  ///< SuffixedText::continuation_mark(); not empty
  /// The suffix is a symbol of its own behind the last character (version 0.1), not part of the last character's piece.
  bool separate_suffix = false;
  /// Empty, or the rank of the merge on each line, where some stand on several lines. The first one counts.
  std::vector<std::size_t> lines = {};
  /// If pieces are restricted to a vocabulary: what is written in place of those outside it that merges make, by id.
  std::optional<std::map<std::int32_t, std::vector<std::int32_t>>> expansions = {};
  bool operator==(const Codes&) const = default;
};

/// Words are characters with a mark behind the last one, and what stands between words vanishes. In decoding the mark
/// becomes a space, or nothing in the last piece.
struct SuffixedText {
  NormalizerSteps normalizer = {};
  bool between_white_space = false;  ///< words stand between what Unicode calls white space, not only between spaces
  std::string suffix = "</w>";       ///< not empty
  bool byte_fallback = false;        ///< as CharacterText's
  std::optional<Codes> codes = {};

  /// Lines of pieces are written as subword-nmt does: this behind a piece that does not end its word, no suffix behind
  /// one that does, and unknown characters as they are.
  std::string_view continuation_mark() const { return codes ? std::string_view(codes->separator) : "@@"; }
  bool operator==(const SuffixedText&) const = default;
};

/// Regular expressions for words, known by name.
enum class WordPattern {
  kGpt2,           ///< GPT-2's: letters, digits or other characters with a space in front, and contractions
  kCl100k,         ///< that of tiktoken's cl100k_base
  kCl100kVariant,  ///< its earlier spelling, which cuts runs of line ends and spaces at the end of a text otherwise
};

/// Words are bytes, and pieces are spelled in GPT-2's alphabet of 256 printable characters that stand for them. In
/// decoding these become bytes again.
struct ByteLevelText {
  NormalizerSteps normalizer = {};
  bool add_prefix_space = false;            ///< a text that does not begin with a space gets one
  std::optional<WordPattern> pattern = {};  ///< matches are words; none: the whole text is one word
  bool operator==(const ByteLevelText&) const = default;
};

/// Words are characters, and SentencePiece normalises and decodes: it goes from character to character, and steps, one
/// after the other, could not do the same. User-defined symbols are kept from the normaliser, looked for in its result,
/// and no text begins behind them.
struct SentencePieceText {
  SentencePieceNormalization normalization = {};
  bool split_at_marks = false;  ///< no merge reaches over the beginning of a word, so that each is encoded by itself
  /// Each character of Unicode's category N is a word, as in InnerCuts. Only learners set it: a model cannot store it,
  /// and needs not, since no merge that was learned in this way reaches over a digit.
  bool split_digits = false;
  bool byte_fallback = false;  ///< as CharacterText's
  bool decodes_bytes = false;  ///< a byte piece `<0xNN>` gives its byte
  bool operator==(const SentencePieceText&) const = default;
};

/// How a text becomes words, inside which merges stay, and pieces become a text again.
using TextDefinition = std::variant<CharacterText, SuffixedText, ByteLevelText, SentencePieceText>;

/// A piece that has an id but is not made from text.
struct UnusedPiece {
  std::int32_t id;
  /// Merges may make the piece on the way to others; where it is left, these are written in its place. Empty: none
  /// makes it.
  std::vector<std::int32_t> parts = {};
  bool operator==(const UnusedPiece&) const = default;
};

/// What a file of merges says, and nothing derived from it.
struct BpeDefinition {
  std::vector<std::string> pieces;  ///< by id; each is valid UTF-8, not empty, and unique
  std::vector<Merge> merges;        ///< by rank
  std::vector<AddedToken> added_tokens;
  std::vector<UnusedPiece> unused;
  std::optional<std::int32_t> unknown;  ///< the piece of a character that has none, nor bytes
  bool fuse_unknown = false;            ///< a run of unknown characters becomes one unknown piece
  bool ignore_merges = false;           ///< a word that is a piece is that piece, whatever the merges say
  TextDefinition text;
  std::string post_processor;  ///< JSON, kept as it was read; it adds special tokens, which `encode` does not

  /// Parts of `text`, whatever kind it is; what a kind has not is empty, false or null.
  const NormalizerSteps& normalizer() const;
  const Metaspace* metaspace() const;
  const InnerCuts& inner_cuts() const;
  const Codes* codes() const;
  bool byte_fallback() const;
  const DecoderSteps* decoder_steps() const;
  DecoderSteps* decoder_steps();
  /// Whether words begin at each kWordMark of the normalised text, which holds what the normaliser's steps put there.
  bool words_begin_at_marks() const;
};

}  // namespace dragoman::tokenizer
