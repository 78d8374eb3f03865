#include "dragoman/markup/markup.h"
#include "html_names.h"
#include "placement.h"
#include "references.h"
#include "segment_text.h"
#include "structure.h"

#include <algorithm>
#include <map>

#include <dragoman/core/error.h>

namespace dragoman::markup {

bool Segment::has_tags_within(const core::TextRange& range) const {
  const auto tag = std::ranges::upper_bound(tags, range.begin);
  return tag != tags.end() && *tag < range.end;
}

struct Document::Impl {
  /// A part of the source that is not copied as it is: a run of items, or an attribute's value.
  struct Place {
    SegmentText text{};
    std::size_t begin = 0;  ///< items
    std::size_t end = 0;
    bool is_attribute = false;
    char quote = 0;
  };

  explicit Impl(std::string text) : source(std::move(text)) {
    core::require(source.size() < (std::size_t{1} << 31), core::ErrorCode::kBadInput,
                  "a document of {} bytes is too long; translate parts of less than 2 GB", source.size());
    items = find_structure(source, scan(source));
    for (std::size_t i = 0; i < items.size();) {
      add_attributes(i);
      if (items[i].kind == ItemKind::kBoundary) {
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      for (; end < items.size() && items[end].kind != ItemKind::kBoundary; ++end) add_attributes(end);
      add_run(i, end);
      i = end;
    }
  }

  void add_attributes(std::size_t item) {
    if (items[item].name_end == 0) return;
    AttributeReader attributes(source, items[item].name_end);
    while (const auto attribute = attributes.next()) {
      const auto& [begin, end] = attribute->name;
      if (!is_translated_attribute(std::string_view(source).substr(begin, end - begin))) continue;
      Place place{.text = build_attribute_segment(source, attribute->value),
                  .begin = item,
                  .end = item,
                  .is_attribute = true,
                  .quote = attribute->quote};
      if (place.text.has_letters) add(std::move(place));
    }
  }

  void add_run(std::size_t begin, std::size_t end) {
    Place place{.text = build_segment(source, items, begin, end), .begin = begin, .end = end};
    if (place.text.has_letters) add(std::move(place));
  }

  void add(Place place) {
    Segment segment{.text = place.text.text};
    for (const Node& node : place.text.nodes) {
      if (node.kind == NodeKind::kRoot) continue;
      segment.tags.push_back(node.begin);
      segment.tags.push_back(node.end);
    }
    std::ranges::sort(segment.tags);
    segment.tags.erase(std::unique(segment.tags.begin(), segment.tags.end()), segment.tags.end());
    segments.push_back(std::move(segment));
    places.push_back(std::move(place));
  }

  /// Returns the index of the first attribute within a run: they precede the run. Returns `number` if it has none.
  std::size_t first_attribute_of(std::size_t number) const {
    std::size_t first = number;
    if (places[number].is_attribute) return first;
    while (first > 0 && places[first - 1].is_attribute && places[first - 1].begin >= places[number].begin) --first;
    return first;
  }

  void append_source(std::string& out, std::size_t begin, std::size_t end) const {
    out.append(source, begin, end - begin);
  }

  std::string source;
  std::vector<Item> items;
  std::vector<Segment> segments;
  std::vector<Place> places;  ///< of each segment
};

namespace {

using Place = SegmentText::Place;

std::uint32_t source_of(const SegmentText& text, std::size_t position) {
  const auto after = std::ranges::upper_bound(text.places, position, {}, &Place::text);
  if (after == text.places.begin()) return static_cast<std::uint32_t>(text.lead.end);
  const Place& place = *std::prev(after);
  return place.source + static_cast<std::uint32_t>(position) - place.text;
}

/// Returns the position in the text of a position in the source.
std::size_t text_of(const SegmentText& text, std::size_t position) {
  const auto after = std::ranges::upper_bound(text.places, position, {}, &Place::source);
  if (after == text.places.begin()) return 0;
  const Place& place = *std::prev(after);
  const std::size_t limit = after == text.places.end() ? text.text.size() : after->text;
  return std::min(place.text + (position - place.source), limit);
}

}  // namespace

Document::Document(std::string source) : impl_(std::make_unique<Impl>(std::move(source))) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

const std::string& Document::source() const noexcept {
  return impl_->source;
}
const std::vector<Segment>& Document::segments() const noexcept {
  return impl_->segments;
}

std::vector<core::TextRange> Document::find_sentences(const SplitText& split) const {
  std::vector<core::TextRange> ranges;
  for (const Impl::Place& place : impl_->places)
    for (const core::TextRange& sentence : split(place.text.text))
      if (sentence.end > sentence.begin)
        ranges.push_back({source_of(place.text, sentence.begin), source_of(place.text, sentence.end - 1) + 1});
  std::ranges::sort(ranges, {}, &core::TextRange::begin);
  return ranges;
}

std::vector<core::TextRange> Document::sentences(std::size_t number, std::span<const core::TextRange> ranges) const {
  const SegmentText& text = impl_->places[number].text;
  const std::size_t first = text.lead.end;
  const std::size_t last = text.trail.begin;
  std::size_t attribute = impl_->first_attribute_of(number);
  std::vector<core::TextRange> sentences;
  for (auto range = std::ranges::lower_bound(ranges, first, {}, &core::TextRange::begin);
       range != ranges.end() && range->begin < last; ++range) {
    while (attribute < number && impl_->places[attribute].text.trail.begin <= range->begin) ++attribute;
    if (attribute < number && impl_->places[attribute].text.lead.end <= range->begin) continue;  // within its value
    std::size_t begin = sentences.empty() ? 0 : sentences.back().end;
    while (begin < text.text.size() && text.text[begin] == ' ') ++begin;
    const std::size_t end = range->end >= last ? text.text.size() : text_of(text, range->end - 1) + 1;
    if (end > begin) sentences.push_back({begin, end});
  }
  if (sentences.empty()) return {{0, text.text.size()}};
  sentences.back().end = text.text.size();
  return sentences;
}

std::string Document::assemble(std::span<const TranslatedSegment> translations) const {
  const Impl& impl = *impl_;
  core::require(translations.size() == impl.segments.size(), core::ErrorCode::kInvalidArgument,
                "{} translations of {} segments", translations.size(), impl.segments.size());
  // The tags whose attributes are translated.
  std::map<std::size_t, std::string> tags;
  for (std::size_t i = 0; i < translations.size();) {
    if (!impl.places[i].is_attribute) {
      ++i;
      continue;
    }
    const std::size_t item = impl.places[i].begin;
    std::string& tag = tags[item];
    std::size_t done = impl.items[item].begin;
    for (; i < translations.size() && impl.places[i].is_attribute && impl.places[i].begin == item; ++i) {
      const Impl::Place& place = impl.places[i];
      tag.append(impl.source, done, place.text.lead.begin - done);
      if (place.quote == 0) tag += '"';
      tag.append(impl.source, place.text.lead.begin, place.text.lead.end - place.text.lead.begin);
      append_encoded(tag, translations[i].text, place.quote == 0 ? '"' : place.quote);
      tag.append(impl.source, place.text.trail.begin, place.text.trail.end - place.text.trail.begin);
      if (place.quote == 0) tag += '"';
      done = place.text.trail.end;
    }
    tag.append(impl.source, done, impl.items[item].end - done);
  }
  const AppendItem append_item = [&](std::string& out, std::uint32_t item) {
    const auto tag = tags.find(item);
    if (tag != tags.end())
      out += tag->second;
    else
      out.append(impl.source, impl.items[item].begin, impl.items[item].end - impl.items[item].begin);
  };
  const EndOf end_of = [&](std::uint32_t item) { return impl.items[item].partner; };
  std::string out;
  out.reserve(impl.source.size() * 5 / 4);
  std::size_t item = 0;
  const auto copy_to = [&](std::size_t end) {
    for (; item < end; ++item) append_item(out, static_cast<std::uint32_t>(item));
  };
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const Impl::Place& place = impl.places[i];
    if (place.is_attribute) continue;
    copy_to(place.begin);
    impl.append_source(out, place.text.lead.begin, place.text.lead.end);
    append_translated(out, place.text, translations[i], append_item, end_of);
    impl.append_source(out, place.text.trail.begin, place.text.trail.end);
    item = place.end;
  }
  copy_to(impl.items.size());
  return out;
}

}  // namespace dragoman::markup
