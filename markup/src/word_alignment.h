#pragma once

#include "segment_text.h"
#include "words.h"

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <dragoman/markup/markup.h>

namespace dragoman::markup {

inline constexpr std::uint32_t kUnaligned = std::numeric_limits<std::uint32_t>::max();

/// The words of a segment and of its translation.
struct AlignedWords {
  std::vector<Word> source{};
  std::vector<std::uint32_t> nodes{};  ///< for each source word: the innermost node that covers a part of it
  std::vector<Word> target{};
  std::vector<std::uint32_t> links{};  ///< for each target word: the source word, or kUnaligned
};

/// Aligns each target word with the source word that it is linked to most. Words are aligned with words, and
/// punctuation with punctuation. The text of an opaque node is one word. If it occurs in the translation, that stretch
/// is one word, too, and is aligned with it.
AlignedWords align_words(const SegmentText& segment, const TranslatedSegment& translated);

}  // namespace dragoman::markup
