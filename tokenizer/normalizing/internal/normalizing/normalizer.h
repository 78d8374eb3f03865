#pragma once

#include "normalizing/character_map.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The bytes [begin, end) of the original text with which the `tokenizers` library aligns a byte of a text. They are
/// whole characters.
struct LibrarySpan {
  std::size_t begin;
  std::size_t end;
  bool operator==(const LibrarySpan&) const = default;
};

/// A text and, if tracked, the offset in the original text from which each of its bytes came.
struct AlignedText {
  std::string text;
  /// Empty if not tracked. Otherwise text.size() + 1 offsets that never decrease; the last is the end of the original
  /// text.
  std::vector<std::size_t> origin;
  /// Empty if not tracked. Otherwise one for each byte.
  std::vector<LibrarySpan> spans = {};
};

/// Returns an unchanged text whose first byte has the offset `begin`.
AlignedText as_it_stands(std::string_view text, std::size_t begin, bool track);
/// Like as_it_stands(text, begin, true), and tracks spans too.
AlignedText with_spans(std::string_view text, std::size_t begin);

/// The steps of a normaliser, in order. Bytes that are not UTF-8 are unchanged. Immutable and thread-safe.
class Normalizer {
 public:
  /// Throws Error{kBadInput} for a damaged character map.
  explicit Normalizer(std::vector<NormalizerStep> steps);

  /// Normalises `text`, whose first byte has the offset `begin` in the original. Tracks offsets if `track` is set.
  /// Throws Error{kBadInput} if the steps make it many times longer.
  AlignedText apply(std::string_view text, std::size_t begin, bool track) const;
  /// Applies the steps to the result of other steps. The result must not exceed `limit` bytes.
  AlignedText apply(AlignedText text, std::size_t limit) const;

 private:
  std::vector<NormalizerStep> steps_;
  std::vector<CharacterMap> maps_;  // of the steps that have one, in order
};

}  // namespace dragoman::tokenizer
