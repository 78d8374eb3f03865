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
/// Each element surrounds one stretch of the translation. Within the words that are aligned with its words, it is the
/// stretch with the largest excess over other words. Nested elements have nested stretches, and siblings have disjoint
/// ones. Points and elements without words are next to the words that their neighbours in the source are aligned with.
void append_translated(std::string& out, const SegmentText& segment, const TranslatedSegment& translated,
                       const AppendItem& append_item, const EndOf& end_of);

}  // namespace dragoman::markup
