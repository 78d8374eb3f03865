#include "segment_text.h"

#include "html_scanner.h"
#include "references.h"

#include <algorithm>

#include <unicode/uchar.h>

#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::markup {
namespace {

/// Opaque nodes with more text are not shown to the translator: a model is likely to change them, and they are seldom
/// part of a sentence.
constexpr std::size_t kMaxOpaqueBytes = 64;
constexpr std::size_t kMaxOpaqueWords = 4;
/// Bounds the time of finding their copies in the translation.
constexpr std::size_t kMaxOpaqueNodes = 64;

/// Reads a text character by character, with references decoded.
class CharacterReader {
 public:
  CharacterReader(std::string_view source, const core::TextRange& range)
      : source_(source.substr(0, range.end)), at_(range.begin) {}

  bool next() {
    at_ += length_;
    length_ = 0;
    if (at_ >= source_.size()) return false;
    if (source_[at_] == '&') length_ = decoder_.decode(source_, at_);
    if (length_ > 0) {
      text_ = decoder_.text();
    } else {
      length_ = std::min(core::utf8_length(static_cast<unsigned char>(source_[at_])), source_.size() - at_);
      text_ = source_.substr(at_, length_);
    }
    return true;
  }
  /// The character, or the one or two characters of a reference.
  std::string_view text() const { return text_; }
  std::size_t begin() const { return at_; }
  std::size_t end() const { return at_ + length_; }
  /// Whether HTML shows it as a space that joins with others.
  bool is_space() const { return text_.size() == 1 && is_html_space(text_.front()); }
  bool is_blank() const { return core::is_blank(text_); }
  bool is_letter() const { return u_isalpha(static_cast<UChar32>(core::decode_utf8(text_, 0).code_point)) != 0; }

 private:
  std::string_view source_;
  std::size_t at_;
  std::size_t length_ = 0;
  std::string_view text_;
  ReferenceDecoder decoder_;
};

/// Returns the range without whitespace at its ends, as positions in the source. A blank range has no rest: it ends
/// where it begins.
core::TextRange trimmed(std::string_view source, const core::TextRange& range) {
  core::TextRange inner{range.end, range.end};
  CharacterReader reader(source, range);
  while (reader.next()) {
    if (reader.is_blank()) continue;
    if (inner.begin == range.end) inner.begin = reader.begin();
    inner.end = reader.end();
  }
  if (inner.begin == range.end) inner = {range.begin, range.begin};
  return inner;
}

class Builder {
 public:
  explicit Builder(std::string_view source) : source_(source) {
    segment_.nodes.push_back({});
    segment_.stretches.push_back({});
  }

  void add_text(const core::TextRange& range) {
    CharacterReader reader(source_, range);
    while (reader.next()) {
      if (reader.is_space() || (segment_.text.empty() && reader.is_blank())) {
        add_space();
        continue;
      }
      append(reader.text(), reader.begin());
      segment_.has_letters = segment_.has_letters || reader.is_letter();
    }
  }

  void add_point(std::uint32_t item, const Item& what) {
    add_node(NodeKind::kPoint, item);
    if (what.is_line_break) space_ = true;
  }

  void open(std::uint32_t item) { current_ = add_node(NodeKind::kElement, item); }
  void close() {
    Node& node = segment_.nodes[current_];
    node.end = size();
    current_ = node.parent;
    set_stretch(current_);
  }

  void add_opaque(std::uint32_t item, const Item& what) {
    const std::string visible = what.hidden ? std::string() : visible_text(what);
    const std::uint32_t parent = current_;
    const std::uint32_t number = add_node(NodeKind::kOpaque, item);
    if (visible.empty() || opaque_nodes_ == kMaxOpaqueNodes) return;
    ++opaque_nodes_;
    current_ = number;
    append(visible, what.begin);
    segment_.places.push_back({size(), what.end});
    segment_.nodes[number].end = size();
    spaceless_ = number;
    current_ = parent;
    set_stretch(current_);
  }

  SegmentText finish() {
    segment_.text.resize(segment_.text.size() - core::trailing_white_space(segment_.text));
    const std::uint32_t length = size();
    for (Node& node : segment_.nodes) {
      node.begin = std::min(node.begin, length);
      node.end = std::clamp(node.end, node.begin, length);
    }
    segment_.nodes.front().end = length;
    return std::move(segment_);
  }

 private:
  std::uint32_t size() const { return static_cast<std::uint32_t>(segment_.text.size()); }

  /// Returns the text of an opaque item without its tags; empty if it is too long.
  std::string visible_text(const Item& what) {
    const std::string_view all = source_.substr(what.begin, what.end - what.begin);
    if (all.front() == '&') return std::string(all);
    if (all.size() > 16 * kMaxOpaqueBytes) return {};
    std::string text;
    std::size_t words = 0;
    bool space = true;
    for (const Token& token : scan(all)) {
      if (token.kind == TokenKind::kRaw) return {};
      if (token.kind != TokenKind::kText) continue;
      CharacterReader reader(all, {token.begin, token.end});
      while (reader.next()) {
        if (reader.is_blank()) {
          space = true;
          continue;
        }
        if (space) ++words;
        if (space && !text.empty()) text += ' ';
        space = false;
        text += reader.text();
      }
    }
    return text.size() > kMaxOpaqueBytes || words > kMaxOpaqueWords ? std::string() : text;
  }

  std::uint32_t add_node(NodeKind kind, std::uint32_t item) {
    const auto number = static_cast<std::uint32_t>(segment_.nodes.size());
    const bool space = space_ && !segment_.text.empty();
    const std::uint32_t begin = size() + (space && kind != NodeKind::kPoint ? 1 : 0);
    segment_.nodes.push_back(
        {.kind = kind, .parent = current_, .item = item, .begin = begin, .end = begin, .space_before = space_});
    return number;
  }

  void add_space() {
    space_ = true;
    for (; spaceless_ < segment_.nodes.size(); ++spaceless_) segment_.nodes[spaceless_].space_after = true;
  }

  void append(std::string_view characters, std::size_t source) {
    if (space_ && !segment_.text.empty()) segment_.text += ' ';
    space_ = false;
    spaceless_ = segment_.nodes.size();
    set_stretch(current_);
    const std::uint32_t shift = static_cast<std::uint32_t>(source) - size();
    if (segment_.places.empty() || segment_.places.back().source - segment_.places.back().text != shift)
      segment_.places.push_back({size(), static_cast<std::uint32_t>(source)});
    segment_.text += characters;
  }

  void set_stretch(std::uint32_t node) {
    SegmentText::Stretch& last = segment_.stretches.back();
    if (last.node == node) return;
    if (last.begin == size())
      last.node = node;
    else
      segment_.stretches.push_back({size(), node});
  }

  std::string_view source_;
  SegmentText segment_;
  std::uint32_t current_ = 0;
  bool space_ = false;         ///< whitespace that has not been appended yet
  std::size_t spaceless_ = 1;  ///< the first node after which there has been neither text nor whitespace
  std::size_t opaque_nodes_ = 0;
};

}  // namespace

SegmentText build_segment(std::string_view source, const std::vector<Item>& items, std::size_t begin, std::size_t end) {
  Builder builder(source);
  const Item& first = items[begin];
  const Item& last = items[end - 1];
  core::TextRange lead{first.begin, first.begin};
  core::TextRange trail{last.end, last.end};
  if (first.kind == ItemKind::kText) lead.end = trimmed(source, {first.begin, first.end}).begin;
  if (last.kind == ItemKind::kText) trail.begin = trimmed(source, {last.begin, last.end}).end;
  for (std::size_t i = begin; i < end; ++i) {
    const Item& item = items[i];
    const auto number = static_cast<std::uint32_t>(i);
    switch (item.kind) {
      case ItemKind::kText:
        builder.add_text({item.begin, item.end});
        break;
      case ItemKind::kOpen:
        builder.open(number);
        break;
      case ItemKind::kClose:
        builder.close();
        break;
      case ItemKind::kOpaque:
        builder.add_opaque(number, item);
        break;
      default:
        builder.add_point(number, item);
    }
  }
  SegmentText segment = builder.finish();
  segment.lead = lead;
  segment.trail = trail;
  return segment;
}

SegmentText build_attribute_segment(std::string_view source, const core::TextRange& value) {
  Builder builder(source);
  builder.add_text(value);
  SegmentText segment = builder.finish();
  const core::TextRange inner = trimmed(source, value);
  segment.lead = {value.begin, inner.begin};
  segment.trail = {inner.end, value.end};
  return segment;
}

}  // namespace dragoman::markup
