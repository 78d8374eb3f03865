#include "normalizing/character_map.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

// A unit of the array is a node. Its lowest 8 bits are the label of the byte that leads to it. Another bit tells
// whether a rule ends here, and the rest is the offset of its children. The value of a rule is in a separate unit with
// the top bit set.
constexpr std::uint32_t kIsValue = std::uint32_t{1} << 31;
constexpr std::uint32_t kLabel = kIsValue | 0xFF;
constexpr std::uint32_t kRuleEnds = std::uint32_t{1} << 8;
constexpr std::uint32_t kFarAway = std::uint32_t{1} << 9;
constexpr std::size_t kUnitSize = 4;

/// Returns the base of the children of node `place`. A child is at the base XOR its label; the value of the node's rule
/// is at the base itself.
std::size_t children_of(std::size_t place, std::uint32_t unit) noexcept {
  const std::size_t offset = std::size_t{unit >> 10} << ((unit & kFarAway) != 0 ? 8 : 0);
  return place ^ offset;
}

std::uint32_t little_endian(std::string_view bytes) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = kUnitSize; i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

bool continues_a_character(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

CharacterMap::CharacterMap(std::string_view bytes, const std::string& name) {
  require(bytes.size() > kUnitSize, ErrorCode::kBadInput, "{}: a character map of {} bytes is cut short", name,
          bytes.size());
  const std::size_t size = little_endian(bytes);
  bytes.remove_prefix(kUnitSize);
  require(size > 0 && size % kUnitSize == 0 && size < bytes.size(), ErrorCode::kBadInput,
          "{}: the character map says that its table has {} bytes, but {} follow; the file is damaged", name, size,
          bytes.size());
  units_.reserve(size / kUnitSize);
  for (std::size_t i = 0; i < size; i += kUnitSize) units_.push_back(little_endian(bytes.substr(i)));
  replacements_ = bytes.substr(size);
  require(core::find_invalid_utf8(replacements_) == std::string::npos, ErrorCode::kBadInput,
          "{}: a replacement of the character map is not valid UTF-8", name);
  check_units(name);
}

/// All children of a node are in one block of 256 units, so it is sufficient to check that the block exists.
void CharacterMap::check_units(const std::string& name) const {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if ((units_[i] & kIsValue) != 0) continue;
    const std::size_t children = children_of(i, units_[i]);
    require((children | 0xFF) < units_.size(), ErrorCode::kBadInput,
            "{}: unit {} of the character map leads to unit {}, but there are {}; the file is damaged", name, i,
            children, units_.size());
    if ((units_[i] & kRuleEnds) == 0) continue;
    const std::size_t value = units_[children] & ~kIsValue;
    require(value < replacements_.size() && !continues_a_character(replacements_[value]), ErrorCode::kBadInput,
            "{}: unit {} of the character map names the replacement at {}, where none begins; the file is damaged",
            name, i, value);
  }
  require((units_[0] & kIsValue) == 0, ErrorCode::kBadInput, "{}: the character map has no root; the file is damaged",
          name);
}

/// Visits the rules for the prefixes of a text, from the shortest, until visit() returns false.
template <class Visit>
void CharacterMap::for_each_rule(std::string_view text, Visit&& visit) const noexcept {
  // The units of a hostile file may lead in a circle.
  constexpr std::size_t kLongestSource = 1024;
  std::size_t children = children_of(0, units_[0]);
  for (std::size_t i = 0; i < std::min(text.size(), kLongestSource); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t node = children ^ byte;
    if ((units_[node] & kLabel) != byte) return;
    children = children_of(node, units_[node]);
    if ((units_[node] & kRuleEnds) == 0) continue;
    const std::string_view rest = std::string_view(replacements_).substr(units_[children] & ~kIsValue);
    if (!visit(Match{rest.substr(0, rest.find('\0')), i + 1})) return;
  }
}

CharacterMap::Match CharacterMap::longest_prefix(std::string_view text) const noexcept {
  Match longest;
  for_each_rule(text, [&](const Match& match) {
    longest = match;
    return true;
  });
  return longest;
}

CharacterMap::Match CharacterMap::shortest_prefix(std::string_view text) const noexcept {
  Match shortest;
  for_each_rule(text, [&](const Match& match) {
    shortest = match;
    return false;
  });
  return shortest;
}

bool CharacterMap::has_rule_over(char byte) const {
  struct Node {
    std::size_t place;
    std::size_t depth;
    bool seen;
  };
  std::vector<Node> open = {{0, 0, false}};
  // Rules may share continuations, so a node is visited again on a path that contains the byte. A damaged map may
  // contain cycles.
  std::vector<bool> known[] = {std::vector<bool>(units_.size()), std::vector<bool>(units_.size())};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.seen && node.depth > 1 && (units_[node.place] & kRuleEnds) != 0) return true;
    const std::size_t children = children_of(node.place, units_[node.place]);
    for (std::uint32_t label = 1; label < 256; ++label) {
      const std::size_t child = children ^ label;
      if ((units_[child] & kLabel) != label) continue;
      const bool seen = node.seen || label == static_cast<unsigned char>(byte);
      // A node may belong to the first byte and to a later one. Only in the latter case does it end a rule of several
      // bytes.
      if (node.depth > 0) {
        if (known[seen ? 1 : 0][child]) continue;
        known[seen ? 1 : 0][child] = true;
      }
      open.push_back({child, node.depth + 1, seen});
    }
  }
  return false;
}

}  // namespace dragoman::tokenizer
