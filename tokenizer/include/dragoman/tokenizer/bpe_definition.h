#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dragoman::tokenizer {

/// U+2581, which stands for a space inside pieces.
inline constexpr const char* kWordMark = "\xE2\x96\x81";

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
};

/// One step of normalisation, named as in `tokenizer.json`.
struct NormalizerStep {
  enum class Kind { kNfc, kNfd, kNfkc, kNfkd, kLowercase, kPrepend, kReplace };
  Kind kind;
  std::string pattern;  ///< kReplace: every occurrence of this text ...
  std::string content;  ///< ... becomes this; kPrepend: what goes in front of a text that is not empty
};

struct Replacement {
  std::string pattern;
  std::string content;
};

/// How ids become text again: the text of each piece, changed by `replacements`; a byte piece `<0xNN>` gives its byte;
/// all is joined; a space that follows a user-defined symbol is dropped; up to `strip_count` times `strip` is removed
/// at the start.
struct DecoderDefinition {
  std::vector<Replacement> replacements;
  bool byte_fallback = false;
  bool drop_space_after_symbols = false;
  std::string strip;
  std::size_t strip_count = 0;
};

/// Everything that a `tokenizer.json` of the supported kind says, and nothing derived from it.
struct BpeDefinition {
  std::vector<std::string> pieces;  ///< by id; each is valid UTF-8, not empty, and unique
  std::vector<Merge> merges;        ///< by rank
  std::vector<AddedToken> added_tokens;
  std::optional<std::int32_t> unknown;
  bool byte_fallback = false;  ///< a character outside the vocabulary becomes its UTF-8 bytes `<0xNN>`
  bool fuse_unknown = false;   ///< a run of unknown characters becomes one unknown piece
  bool ignore_merges = false;  ///< a word that is a piece is that piece, whatever the merges say
  std::vector<NormalizerStep> normalizer;
  std::string split_pattern;  ///< a word begins at each occurrence; empty: the whole text is one word
  DecoderDefinition decoder;
  std::string post_processor;  ///< JSON, kept as it was read; it adds special tokens, which `encode` does not
};

/// The byte that a piece `<0x00>` ... `<0xFF>` stands for.
std::optional<unsigned char> byte_of_piece(const std::string& piece);
/// The name of the piece for a byte.
std::string piece_of_byte(unsigned char byte);

}  // namespace dragoman::tokenizer
