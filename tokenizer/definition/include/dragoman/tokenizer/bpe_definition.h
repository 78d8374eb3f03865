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

/// A merge of byte pair encoding: `left` followed by `right` becomes `result`. The rank of a merge is its position in
/// the list, and a lower rank is applied first. Two merges that produce the same string have the same `result`.
struct Merge {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
  bool operator==(const Merge&) const = default;
};

/// A piece that is matched as a whole in the text before any other processing.
struct AddedToken {
  std::int32_t id;
  /// Special tokens (`<s>`, ...) are matched only on request, and decoding drops them. Other added tokens are
  /// user-defined symbols, which are always matched.
  bool special;
  /// Whether the model's vocabulary lists it too, as in files that Dragoman writes.
  bool in_vocabulary = true;
  bool operator==(const AddedToken&) const = default;
};

/// One step of normalisation, named as in `tokenizer.json` if that has the step.
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
    kPrecompiled,  ///< looks grapheme clusters up in a SentencePiece character map, as the `tokenizers` library does
  };
  Kind kind;
  /// For kReplace: every occurrence of this text becomes `content`. For kTrimStart and kTrimEnd: repetitions of it at
  /// the start or the end are removed. For kSqueeze: repetitions of it become one. The latter three support only the
  /// space and kWordMark.
  std::string pattern;
  /// For kReplace: the replacement. For kPrepend: a prefix for every text that is not empty. For kPrecompiled: the
  /// serialised map.
  std::string content;
  bool operator==(const NormalizerStep&) const = default;
};

/// The steps of normalisation, applied one after the other.
using NormalizerSteps = std::vector<NormalizerStep>;

/// The normalisation of a SentencePiece model.
struct SentencePieceNormalization {
  std::string name = "identity";    ///< the name of the character map
  std::string character_map;        ///< serialised; if empty, characters are unchanged
  bool dummy_prefix = true;         ///< a text that is not empty gets a leading space
  bool remove_extra_spaces = true;  ///< spaces at both ends are removed, and runs become one space
  bool escape_spaces = true;        ///< spaces become kWordMark
  bool space_as_suffix = false;     ///< the dummy prefix is appended instead
  bool operator==(const SentencePieceNormalization&) const = default;
};

/// Further rules for splitting words, apart from marks. The protected pattern applies first, then the rules for
/// characters.
struct InnerCuts {
  /// Each character of Unicode's category N is a separate word, regardless of its neighbours.
  bool digits = false;
  /// Words end between a lower-case letter (Unicode's category Ll) and an upper-case one (Lu), as in camelCase.
  bool letter_case = false;
  /// Letters (Unicode's category L), numbers (N) and runs of other characters are separate words. Combining marks (M)
  /// belong to the letters or numbers that they follow, and a word mark to the characters after it.
  bool punctuation = false;
  /// A regular expression, or empty. Its matches in the normalised text are separated from the text on both sides,
  /// before marks and the other rules split them further. docs/guides/tokenizer.md lists the supported part of
  /// Oniguruma's syntax.
  std::string protected_pattern = {};

  /// Returns whether the pattern, or the last of several, is kWordMark, so that each space is a separate word.
  bool spaces_apart() const;
  bool any() const { return digits || letter_case || punctuation || !protected_pattern.empty(); }
  bool operator==(const InnerCuts&) const = default;
};

/// A word starts at each occurrence of `mark`. If `mark` is empty, the whole text is one word.
struct SplitBefore {
  std::string mark = {};
  InnerCuts inner = {};
  bool operator==(const SplitBefore&) const = default;
};

/// Words are separated by `separator`, which is removed.
struct SplitBetween {
  std::string separator;  ///< not empty
  bool operator==(const SplitBetween&) const = default;
};

/// Words are separated by Unicode whitespace, which is removed.
struct WhitespaceSplit {
  bool operator==(const WhitespaceSplit&) const = default;
};

/// Selects the stretches of text to which Metaspace prepends a kWordMark, unless they start with one.
enum class PrependScheme {
  kAlways,  ///< each stretch between added tokens
  kFirst,   ///< the stretch at the beginning of the text
  kNever,
};

/// Spaces become kWordMark, and one is prepended.
struct Metaspace {
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;  ///< a word starts at each mark; otherwise the whole text is one word
  bool operator==(const Metaspace&) const = default;
};

/// The rule that splits a normalised text into words. Merges never cross the boundary of a word.
using PreTokenizerDefinition = std::variant<SplitBefore, SplitBetween, WhitespaceSplit, Metaspace>;

/// Every occurrence of `pattern` becomes `content`.
struct Replacement {
  std::string pattern;
  std::string content;
  bool operator==(const Replacement&) const = default;
};

/// A prefix that is removed from a text.
struct Strip {
  std::string character;
  std::size_t most = 1;  ///< the maximum number of repetitions, at least 1
  bool operator==(const Strip&) const = default;
};

/// The steps that convert ids to text, in this order:
///
/// 1. The text of each piece is changed by `replacements`.
/// 2. A byte piece `<0xNN>` becomes its byte (`byte_fallback`).
/// 3. The texts are concatenated.
/// 4. `escapes` are reversed.
/// 5. A space after a user-defined symbol is dropped (`drop_space_after_symbols`).
/// 6. `strip` is removed from the start.
struct DecoderSteps {
  std::vector<Replacement> replacements = {};
  bool byte_fallback = false;
  /// The escape sequences that the normaliser writes for characters with a special meaning in pieces, and those
  /// characters. Each sequence is U+241B and a character from U+2400 to U+2423. The escape of U+241B itself is the
  /// last.
  std::vector<Replacement> escapes = {};
  bool drop_space_after_symbols = false;
  std::optional<Strip> strip = {};
  bool operator==(const DecoderSteps&) const = default;
};

/// Replaces kWordMark by a space and concatenates the pieces. Unless `prepend` is kNever, kWordMark is removed from the
/// first piece that is not a special token.
struct MetaspaceDecoder {
  PrependScheme prepend = PrependScheme::kAlways;
  bool operator==(const MetaspaceDecoder&) const = default;
};

/// The conversion of the pieces of a CharacterText back to text.
using DecoderDefinition = std::variant<DecoderSteps, MetaspaceDecoder>;

/// Words are sequences of characters. The treatment of spaces is defined by the steps of normalizer and decoder.
struct CharacterText {
  NormalizerSteps normalizer = {};
  PreTokenizerDefinition pre_tokenizer = {};
  bool byte_fallback = false;  ///< a character outside the vocabulary becomes its UTF-8 bytes `<0xNN>`
  DecoderDefinition decoder = {};
  bool operator==(const CharacterText&) const = default;
};

/// The properties of codes files of subword-nmt and fastBPE. Their encoders apply the best merge to all its occurrences
/// in a word before they select the next merge. The result differs from single merges only if a merge precedes a merge
/// that produces its left or right side.
struct Codes {
  std::string separator = "@@";  ///< SuffixedText::continuation_mark(); not empty
  /// The suffix is a separate symbol after the last character (version 0.1), and not part of the last character's
  /// piece.
  bool separate_suffix = false;
  /// The rank of the merge on each line if some merges occur on several lines (the first occurrence counts). Otherwise
  /// empty.
  std::vector<std::size_t> lines = {};
  /// Set if the pieces are restricted to a vocabulary: the replacement for each piece outside it that merges produce,
  /// by id.
  std::optional<std::map<std::int32_t, std::vector<std::int32_t>>> expansions = {};
  bool operator==(const Codes&) const = default;
};

/// Words are sequences of characters with a suffix after the last one, and the text between words is removed. Decoding
/// replaces the suffix by a space, or removes it from the last piece.
struct SuffixedText {
  NormalizerSteps normalizer = {};
  bool between_white_space = false;  ///< words are separated by any Unicode whitespace, not only by spaces
  std::string suffix = "</w>";       ///< not empty
  bool byte_fallback = false;        ///< as in CharacterText
  std::optional<Codes> codes = {};

  /// Returns the continuation mark of lines of pieces in the format of subword-nmt: a piece that does not end its word
  /// is followed by the mark, a piece that does has no suffix, and unknown characters are unchanged.
  std::string_view continuation_mark() const { return codes ? std::string_view(codes->separator) : "@@"; }
  bool operator==(const SuffixedText&) const = default;
};

/// Regular expressions for words, known by name.
enum class WordPattern {
  kGpt2,           ///< GPT-2's: letters, digits or other characters with a leading space, and contractions
  kCl100k,         ///< the expression of tiktoken's cl100k_base
  kCl100kVariant,  ///< its earlier spelling, which splits runs of line ends and spaces at the end of a text differently
};

/// Words are sequences of bytes. Pieces are spelled in GPT-2's alphabet of 256 printable characters, one for each byte.
/// Decoding restores the bytes.
struct ByteLevelText {
  NormalizerSteps normalizer = {};
  bool add_prefix_space = false;            ///< a text without a leading space gets one
  std::optional<WordPattern> pattern = {};  ///< matches are words; if not set, the whole text is one word
  bool operator==(const ByteLevelText&) const = default;
};

/// Words are sequences of characters, and normalisation and decoding are SentencePiece's. They process a text character
/// by character, which a sequence of steps cannot reproduce. User-defined symbols are protected from the normaliser and
/// matched in its result. The text after a symbol is not treated as the start of a text.
struct SentencePieceText {
  SentencePieceNormalization normalization = {};
  /// Merges do not cross the beginning of a word, so that each word is encoded separately.
  bool split_at_marks = false;
  /// Each character of Unicode's category N is a word, as in InnerCuts. Only learners set it: a model cannot store it,
  /// and need not, because no merge that is learned in this way crosses a digit.
  bool split_digits = false;
  bool byte_fallback = false;  ///< as in CharacterText
  bool decodes_bytes = false;  ///< a byte piece `<0xNN>` becomes its byte
  bool operator==(const SentencePieceText&) const = default;
};

/// The conversion of a text to words, which merges never cross, and of pieces back to a text.
using TextDefinition = std::variant<CharacterText, SuffixedText, ByteLevelText, SentencePieceText>;

/// A piece that has an id but is never produced from text.
struct UnusedPiece {
  std::int32_t id;
  /// The replacement for the piece. Merges may produce it as an intermediate step; if it remains, these pieces are
  /// written instead. Empty if no merge produces it.
  std::vector<std::int32_t> parts = {};
  bool operator==(const UnusedPiece&) const = default;
};

/// The content of a merges file, without derived data. It is a plain value: read_tokenizer_file() reads it, programs
/// may change it, and the constructor of BpeTokenizer validates it.
///
///     BpeDefinition definition = read_tokenizer_file("codes.bpe");               // tokenizer_files.h
///     definition.fuse_unknown = true;
///     const BpeTokenizer tokenizer(std::move(definition), "codes.bpe");          // bpe_tokenizer.h
struct BpeDefinition {
  std::vector<std::string> pieces;  ///< by id; each is valid UTF-8, not empty, and unique
  std::vector<Merge> merges;        ///< by rank
  std::vector<AddedToken> added_tokens;
  std::vector<UnusedPiece> unused;
  std::optional<std::int32_t> unknown;  ///< the piece for characters that have neither a piece nor bytes
  bool drops_unknown = false;           ///< without `unknown`, drops such characters as the `tokenizers` library does
  bool fuse_unknown = false;            ///< a run of unknown characters becomes one unknown piece
  bool ignore_merges = false;           ///< a word that is a piece becomes that piece, regardless of the merges
  TextDefinition text;
  std::string post_processor;  ///< JSON, unchanged; it adds special tokens, which `encode` does not

  /// Return parts of `text`, whichever its type. A part that the type lacks is empty, false or null.
  const NormalizerSteps& normalizer() const;
  const Metaspace* metaspace() const;
  const InnerCuts& inner_cuts() const;
  const Codes* codes() const;
  bool byte_fallback() const;
  const DecoderSteps* decoder_steps() const;
  DecoderSteps* decoder_steps();
  /// Returns whether words start at each kWordMark of the normalised text, where the normaliser's steps have put the
  /// marks.
  bool words_begin_at_marks() const;
};

}  // namespace dragoman::tokenizer
