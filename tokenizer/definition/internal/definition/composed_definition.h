#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A token that is looked for in the text before anything else happens to it, or, if it is `normalized`, after
/// normalisation.
struct ComposedToken {
  std::int32_t id;
  std::string text;
  bool single_word = false;  ///< not as a part of a word
  bool lstrip = false;       ///< takes white space in front with it
  bool rstrip = false;       ///< and behind
  bool normalized = false;
  bool special = false;  ///< matched on request only; left out in decoding
};

/// A step of normalisation that NormalizerStep has not.
struct TextStep {
  enum class Kind {
    kReplaceMatches,   ///< what the regular expression `pattern` matches becomes `content`
    kStripStart,       ///< white space at the start vanishes,
    kStripEnd,         ///< and at the end
    kStripAccents,     ///< combining marks vanish (StripAccents),
    kStripNonspacing,  ///< or those of category Mn only (BertNormalizer)
    kCleanText,        ///< BertNormalizer: control characters and U+FFFD vanish, white space becomes spaces
    kSpaceChinese,     ///< BertNormalizer: spaces around Han characters
    kNmt,              ///< some control characters vanish, some separators become spaces
    kByteAlphabet,     ///< bytes become characters of GPT-2's alphabet
  };
  Kind kind;
  std::string pattern = {};
  std::string content = {};
};
using ComposedNormalizer = std::vector<std::variant<NormalizerStep, TextStep>>;

/// How a text is cut at what a pattern matches.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// One part of a pre-tokenizer, named as in `tokenizer.json`.
struct PreTokenizerStep {
  enum class Kind {
    kSplitText,         ///< at `text`
    kSplitPattern,      ///< at what the regular expression `text` matches
    kSplitWhitespace,   ///< at white space, which vanishes
    kSplitPunctuation,  ///< at punctuation, ASCII's symbols among it
    kSplitNumbers,      ///< at characters of Unicode's category N
    kWordsAndSymbols,   ///< runs of word characters, and runs of others; white space vanishes
    kMetaspace,         ///< spaces become `text`, one is put in front
    kPrefixSpace,       ///< a part that does not begin with a space gets one
    kByteAlphabet,      ///< bytes become characters of GPT-2's alphabet
  };
  Kind kind;
  std::string text = {};
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;                             ///< cuts at what does not match instead
  PrependScheme prepend = PrependScheme::kAlways;  ///< kMetaspace
  bool split = true;                               ///< kMetaspace: words begin at marks
};

/// One part of a decoder, which changes a list of texts, at first those of the pieces.
struct DecoderStep {
  enum class Kind {
    kReplace,         ///< `pattern` by `content` in each
    kReplaceMatches,  ///< what the regular expression `pattern` matches
    kByteFallback,    ///< runs of `<0xNN>` become characters
    kFuse,            ///< all are joined
    kStrip,           ///< up to `start` and `stop` times the character `content` at the ends of each
    kMetaspace,       ///< `pattern` becomes a space, in the first nothing if `flag`
    kWordPiece,       ///< a space in front of what does not begin with `pattern`; `flag`: cleans up around punctuation
    kEndOfWord,       ///< `pattern` becomes a space, in the last nothing
    kByteLevel,       ///< characters of GPT-2's alphabet become bytes; all are joined
  };
  Kind kind;
  std::string pattern = {};
  std::string content = {};
  std::size_t start = 0;
  std::size_t stop = 0;
  bool flag = false;
};

/// Merges: pieces and merges of a BPE tokenizer whose words are characters, as its model needs them.
struct MergesOfWords {
  BpeDefinition definition;
};

/// The pieces of greatest sum.
struct UnigramOfWords {
  std::vector<double> scores = {};  ///< by id, of as many pieces as the model lists; they have the first ids
  std::optional<std::int32_t> unknown = {};
  bool byte_fallback = false;
};

/// The longest piece from the left, and again; what is left of a word begins with `prefix`.
struct WordPieces {
  std::int32_t unknown = 0;
  std::string prefix = "##";
  std::size_t longest_word = 100;  ///< in characters; a longer word is unknown
};

/// Whole words.
struct WholeWords {
  std::optional<std::int32_t> unknown = {};
};

/// A tokenizer put together of parts as `tokenizer.json` names them, in any order that it allows.
struct ComposedDefinition {
  std::vector<std::string> pieces;  ///< by id; empty: no piece has that id
  std::vector<bool> listed;         ///< by id: the model knows the piece, too, not only the added tokens
  std::vector<ComposedToken> added_tokens;
  ComposedNormalizer normalizer;
  std::vector<PreTokenizerStep> pre_tokenizer;
  std::variant<MergesOfWords, UnigramOfWords, WordPieces, WholeWords> model;
  std::vector<DecoderStep> decoder;
  bool joins_with_spaces = false;   ///< there is no decoder at all
  std::string post_processor = {};  ///< as BpeDefinition's
};

}  // namespace dragoman::tokenizer
