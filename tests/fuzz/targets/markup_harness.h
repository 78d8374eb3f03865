#pragma once

#include "target.h"

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/utf8.h>
#include <dragoman/markup/markup.h>

namespace dragoman::fuzz {

/// Links each space-separated word of a text with the word at the mirrored position.
inline markup::TranslatedSegment mirrored(const std::string& text) {
  std::vector<core::TextRange> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back({begin, end});
    begin = end + 1;
  }
  markup::TranslatedSegment segment;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (!segment.text.empty()) segment.text += ' ';
    const auto begin = static_cast<std::uint32_t>(segment.text.size());
    segment.text.append(text, word->begin, word->end - word->begin);
    segment.links.push_back({static_cast<std::uint32_t>(word->begin), static_cast<std::uint32_t>(word->end), begin,
                             static_cast<std::uint32_t>(segment.text.size()), 1});
  }
  return segment;
}

/// Reads the bytes as HTML and puts mirrored translations into it.
inline bool exercise_markup(std::string_view bytes) {
  std::string html(bytes);
  core::replace_invalid_utf8(html);
  const markup::Document document(html);
  std::vector<markup::TranslatedSegment> translations;
  std::vector<core::TextRange> ranges;
  for (std::size_t i = 0; i < document.segments().size(); ++i) {
    const markup::Segment& segment = document.segments()[i];
    promise(core::find_invalid_utf8(segment.text) == std::string::npos, "a segment is valid UTF-8");
    promise(!segment.text.empty(), "a segment has text");
    const core::TextRange range = document.range_in_source(i, {0, segment.text.size()});
    promise(range.begin < range.end && range.end <= html.size(), "a segment is in the source");
    ranges.push_back(range);
    translations.push_back(mirrored(segment.text));
  }
  for (std::size_t i = 0; i < ranges.size(); ++i)
    for (const core::TextRange& sentence : document.sentences(i, ranges))
      promise(sentence.begin < sentence.end && sentence.end <= document.segments()[i].text.size(),
              "a sentence is in its segment");
  const std::string out = document.assemble(translations);
  promise(core::find_invalid_utf8(out) == std::string::npos, "the output is valid UTF-8");
  promise(!document.segments().empty() || out == html, "a document without text is copied");
  return true;
}

inline Target markup_target() {
  return {
      .name = "markup", .exercise = exercise_markup, .budget = {.microseconds_per_byte = 20, .bytes_per_byte = 512}};
}

}  // namespace dragoman::fuzz
