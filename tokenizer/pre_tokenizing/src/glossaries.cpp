#include "pre_tokenizing/glossaries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dragoman::tokenizer {
namespace {

/// ^(a|b)$, once each of them is known to be a pattern by itself.
Pattern any_of(const std::vector<std::string>& expressions) {
  for (const std::string& expression : expressions) Pattern(expression, PatternDialect::kPython);
  return {fmt::format("^(?:{})$", fmt::join(expressions, "|")), PatternDialect::kPython};
}

std::string_view text_of(std::string_view word, const Glossaries::Segment& segment) {
  return word.substr(segment.begin, segment.end - segment.begin);
}

}  // namespace

Glossaries::Glossaries(const std::vector<std::string>& expressions) : any_(any_of(expressions)) {
  for (const std::string& expression : expressions)
    entries_.push_back({.pattern = Pattern(expression, PatternDialect::kPython),
                        .anchored = Pattern(fmt::format("^{}$", expression), PatternDialect::kPython)});
}

std::vector<Glossaries::Segment> Glossaries::cut(std::string_view word) const {
  std::vector<Segment> segments = {{0, word.size(), false}};
  for (const Entry& entry : entries_) {
    std::vector<Segment> cut;
    for (const Segment& segment : segments) cut_segment(entry, word, segment, cut);
    segments = std::move(cut);
  }
  for (Segment& segment : segments) segment.listed = any_.matches_at_start(text_of(word, segment));
  return segments;
}

/// Anchors and word boundaries see nothing but the segment.
void Glossaries::cut_segment(const Entry& entry, std::string_view word, Segment segment, std::vector<Segment>& out) {
  const std::string_view text = text_of(word, segment);
  if (entry.anchored.matches_at_start(text)) return out.push_back(segment);
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    if (begin < end) out.push_back({segment.begin + begin, segment.begin + end, false});
    begin = end;
  };
  Pattern::Search search(entry.pattern, text);
  for (auto match = search.next(); match; match = search.next()) {
    add(match->begin);
    add(match->end);
  }
  add(text.size());
}

}  // namespace dragoman::tokenizer
