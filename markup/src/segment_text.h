#pragma once

#include "structure.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/text_range.h>

namespace dragoman::markup {

enum class NodeKind : std::uint8_t {
  kRoot,
  kElement,
  kPoint,
  kOpaque,  ///< copied; its text, if it has any, is part of the segment's text
};

/// An element or another item of a segment, with its place in the segment's text.
struct Node {
  NodeKind kind = NodeKind::kRoot;
  std::uint32_t parent = 0;
  std::uint32_t item = 0;   ///< of the start tag
  std::uint32_t begin = 0;  ///< of its text
  std::uint32_t end = 0;
  bool space_before = false;
  bool space_after = false;
};

/// The text of a run of items without a boundary, and the tree of its tags.
struct SegmentText {
  std::string text{};
  /// In the order of the source; node 0 is the root, and parents precede their children.
  std::vector<Node> nodes{};
  /// The innermost node of each stretch of the text: the text from `begin` to the next entry belongs to `node`.
  struct Stretch {
    std::uint32_t begin = 0;
    std::uint32_t node = 0;
  };
  std::vector<Stretch> stretches{};
  /// The positions in the source of the text's bytes: those from `text` on are at `source` and after it.
  struct Place {
    std::uint32_t text = 0;
    std::uint32_t source = 0;
  };
  std::vector<Place> places{};
  /// The source before and after the text, which is whitespace.
  core::TextRange lead{};
  core::TextRange trail{};
  bool has_letters = false;  ///< outside of opaque nodes
};

/// Builds the segment of items [begin, end).
SegmentText build_segment(std::string_view source, const std::vector<Item>& items, std::size_t begin, std::size_t end);

/// Builds the segment of an attribute's value.
SegmentText build_attribute_segment(std::string_view source, const core::TextRange& value);

}  // namespace dragoman::markup
