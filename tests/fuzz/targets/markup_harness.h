#pragma once

#include "target.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/utf8.h>
#include <dragoman/markup/markup.h>

namespace dragoman::fuzz {

/// Returns the space-separated words of a text.
inline std::vector<core::TextRange> words_of(std::string_view text) {
  std::vector<core::TextRange> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back({begin, end});
    begin = end + 1;
  }
  return words;
}

/// Links each word of a text with the word at the mirrored position.
inline markup::TranslatedSegment mirrored(const std::string& text) {
  const std::vector<core::TextRange> words = words_of(text);
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
  for (const markup::Segment& segment : document.segments()) {
    promise(core::find_invalid_utf8(segment.text) == std::string::npos, "a segment is valid UTF-8");
    promise(!segment.text.empty(), "a segment has text");
    translations.push_back(mirrored(segment.text));
  }
  const std::vector<core::TextRange> ranges = document.find_sentences(words_of);
  for (const core::TextRange& range : ranges)
    promise(range.begin < range.end && range.end <= html.size(), "a sentence is in the source");
  for (std::size_t i = 0; i < document.segments().size(); ++i)
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
