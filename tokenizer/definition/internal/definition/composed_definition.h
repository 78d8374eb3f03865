#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A token that is matched in the text before any other processing or, if `normalized` is set, after normalisation.
struct ComposedToken {
  std::int32_t id;
  std::string text;
  bool single_word = false;  ///< not matched within a word
  bool lstrip = false;       ///< includes whitespace before it
  bool rstrip = false;       ///< includes whitespace after it
  bool normalized = false;
  bool special = false;  ///< matched only on request, and dropped in decoding
};

/// A step of normalisation that NormalizerStep lacks.
struct TextStep {
  enum class Kind {
    kReplaceMatches,   ///< matches of the regular expression `pattern` become `content`
    kStripStart,       ///< removes whitespace at the start
    kStripEnd,         ///< removes whitespace at the end
    kStripAccents,     ///< removes combining marks (StripAccents)
    kStripNonspacing,  ///< removes marks of category Mn only (BertNormalizer)
    kCleanText,        ///< BertNormalizer: removes control characters and U+FFFD, and replaces whitespace by spaces
    kSpaceChinese,     ///< BertNormalizer: spaces around Han characters
    kNmt,              ///< removes some control characters, and replaces some separators by spaces
    kByteAlphabet,     ///< replaces bytes by characters of GPT-2's alphabet
  };
  Kind kind;
  std::string pattern = {};
  std::string content = {};
};
using ComposedNormalizer = std::vector<std::variant<NormalizerStep, TextStep>>;

/// The treatment of a pattern's matches when a text is split at them.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// One step of a pre-tokenizer, named as in `tokenizer.json`.
struct PreTokenizerStep {
  enum class Kind {
    kSplitText,         ///< at `text`
    kSplitPattern,      ///< at matches of the regular expression `text`
    kSplitWhitespace,   ///< at whitespace, which is removed
    kSplitPunctuation,  ///< at punctuation, including ASCII symbols
    kSplitNumbers,      ///< at characters of Unicode's category N
    kWordsAndSymbols,   ///< runs of word characters, and runs of other characters; whitespace is removed
    kMetaspace,         ///< spaces become `text`, and one is prepended
    kPrefixSpace,       ///< a part without a leading space gets one
    kByteAlphabet,      ///< replaces bytes by characters of GPT-2's alphabet
  };
  Kind kind;
  std::string text = {};
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;                             ///< splits at the text between matches instead
  PrependScheme prepend = PrependScheme::kAlways;  ///< for kMetaspace
  bool split = true;                               ///< for kMetaspace: words begin at marks
};

/// One step of a decoder, which changes a list of texts. The initial texts are those of the pieces.
struct DecoderStep {
  enum class Kind {
    kReplace,         ///< replaces `pattern` by `content` in each text
    kReplaceMatches,  ///< replaces matches of the regular expression `pattern`
    kByteFallback,    ///< runs of `<0xNN>` become characters
    kFuse,            ///< concatenates all texts
    kStrip,           ///< removes the character `content` up to `start` and `stop` times at the ends of each text
    kMetaspace,       ///< replaces `pattern` by a space, or removes it from the first text if `flag` is set
    kWordPiece,       ///< adds a space before texts without the prefix `pattern`; `flag`: cleans up around punctuation
    kEndOfWord,       ///< replaces `pattern` by a space, or removes it from the last text
    kByteLevel,       ///< replaces characters of GPT-2's alphabet by bytes and concatenates all texts
  };
  Kind kind;
  std::string pattern = {};
  std::string content = {};
  std::size_t start = 0;
  std::size_t stop = 0;
  bool flag = false;
};

/// The pieces and merges of a BPE tokenizer whose words are characters, in the form that its model needs.
struct MergesOfWords {
  BpeDefinition definition;
};

/// Selects the pieces with the largest sum of scores.
struct UnigramOfWords {
  std::vector<double> scores = {};  ///< by id, for the pieces that the model lists; they have the first ids
  std::optional<std::int32_t> unknown = {};
  bool byte_fallback = false;
};

/// Repeatedly selects the longest piece from the left. The rest of a word gets the prefix `prefix`.
struct WordPieces {
  std::int32_t unknown = 0;
  std::string prefix = "##";
  std::size_t longest_word = 100;  ///< in characters; a longer word is unknown
};

/// Each word is a piece.
struct WholeWords {
  std::optional<std::int32_t> unknown = {};
};

/// A tokenizer composed of the parts that `tokenizer.json` specifies, in any order that the format permits.
struct ComposedDefinition {
  std::vector<std::string> pieces;  ///< by id; empty if no piece has that id
  std::vector<bool> listed;         ///< by id: whether the model lists the piece, in addition to the added tokens
  std::vector<ComposedToken> added_tokens;
  ComposedNormalizer normalizer;
  std::vector<PreTokenizerStep> pre_tokenizer;
  std::variant<MergesOfWords, UnigramOfWords, WordPieces, WholeWords> model;
  std::vector<DecoderStep> decoder;
  bool joins_with_spaces = false;   ///< there is no decoder
  std::string post_processor = {};  ///< as in BpeDefinition
};

}  // namespace dragoman::tokenizer
