#pragma once

#include "segment_text.h"

#include <cstdint>
#include <functional>
#include <string>

#include <dragoman/markup/markup.h>

namespace dragoman::markup {

/// Appends the bytes of an item to the output.
using AppendItem = std::function<void(std::string& out, std::uint32_t item)>;
/// Returns the item of an element's end tag.
using EndOf = std::function<std::uint32_t(std::uint32_t item)>;

/// Appends the translation of a segment with its tags.
///
/// Each element surrounds one stretch of the translation: among the stretches of the words that are aligned with its
/// words, the one with the largest excess over other words. The stretches of nested elements are nested, and those of
/// siblings are disjoint. Points and elements without words stand next to the words that their neighbours in the source
/// are aligned with.
void append_translated(std::string& out, const SegmentText& segment, const TranslatedSegment& translated,
                       const AppendItem& append_item, const EndOf& end_of);

}  // namespace dragoman::markup
