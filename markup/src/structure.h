#pragma once

#include "html_scanner.h"

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace dragoman::markup {

inline constexpr std::uint32_t kNoItem = std::numeric_limits<std::uint32_t>::max();

enum class ItemKind : std::uint8_t {
  kText,
  kOpen,      ///< the start tag of an inline element
  kClose,     ///< its end tag
  kPoint,     ///< one place within a text: an empty element, a comment, a tag without a partner
  kOpaque,    ///< an inline element, or a reference, that is not translated
  kBoundary,  ///< ends a segment; not translated
};

/// A stretch of the document. Items are adjacent and cover the source.
struct Item {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  ItemKind kind = ItemKind::kText;
  bool hidden = false;              ///< kOpaque: has no visible text
  bool is_line_break = false;       ///< kPoint: `br`, which separates words
  std::uint32_t partner = kNoItem;  ///< kOpen and kClose: the item of the other tag
  std::uint32_t name_end = 0;       ///< of a start tag whose attributes may be translated, otherwise 0
};

/// Elements within more inline elements than this are treated as blocks. It bounds the time for an input of tags.
inline constexpr std::size_t kMaxInlineDepth = 32;

/// Finds out which tags belong together and where segments end. An inline element that contains a boundary consists of
/// boundaries itself, so that the tags of a segment are balanced.
std::vector<Item> find_structure(std::string_view source, const std::vector<Token>& tokens);

}  // namespace dragoman::markup
