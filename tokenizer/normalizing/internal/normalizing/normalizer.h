#pragma once

#include "normalizing/character_map.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A text and, where tracked, the offset in the original text that each of its bytes came from.
struct AlignedText {
  std::string text;
  /// Not tracked: empty. Tracked: text.size() + 1 offsets that never fall; the last is the end of the original.
  std::vector<std::size_t> origin;
};

/// A text that nothing has been done to, whose first byte has the offset `begin`.
AlignedText as_it_stands(std::string_view text, std::size_t begin, bool track);

/// The steps of a normaliser, in order. Bytes that are not UTF-8 pass through unchanged. Immutable, so any thread may
/// call.
class Normalizer {
 public:
  /// Throws Error{kBadInput} for a damaged character map.
  explicit Normalizer(std::vector<NormalizerStep> steps);

  /// Normalises `text`, whose first byte has the offset `begin` in the original; offsets are tracked if `track`.
  /// Throws Error{kBadInput} if the steps make it many times longer.
  AlignedText apply(std::string_view text, std::size_t begin, bool track) const;
  /// The same to what other steps have made of a text; more than `limit` bytes are too many.
  AlignedText apply(AlignedText text, std::size_t limit) const;

 private:
  std::vector<NormalizerStep> steps_;
  std::vector<CharacterMap> maps_;  // of the steps that have one, in their order
};

}  // namespace dragoman::tokenizer
