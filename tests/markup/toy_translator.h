#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/markup/markup.h>

namespace dragoman::markup {

/// Returns the words and the characters of punctuation of a text, by simpler rules than the library's.
inline std::vector<core::TextRange> toy_words(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return c >= 0x80 || std::isalnum(c) != 0; };
  std::vector<core::TextRange> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (is_letter(static_cast<unsigned char>(text[i])))
      while (end < text.size() && is_letter(static_cast<unsigned char>(text[end]))) ++end;
    if (text[i] != ' ') words.push_back({i, end});
    i = end;
  }
  return words;
}

/// A translation with links such as "0-0 1-2", which are indices of words.
inline TranslatedSegment linked(std::string_view source, std::string_view target, std::string_view pairs) {
  const auto sources = toy_words(source);
  const auto targets = toy_words(target);
  TranslatedSegment segment{.text = std::string(target)};
  while (!pairs.empty()) {
    const std::string pair(pairs.substr(0, pairs.find(' ')));
    pairs.remove_prefix(std::min(pair.size() + 1, pairs.size()));
    const core::TextRange& from = sources.at(std::stoul(pair));
    const core::TextRange& to = targets.at(std::stoul(pair.substr(pair.find('-') + 1)));
    segment.links.push_back({static_cast<std::uint32_t>(from.begin), static_cast<std::uint32_t>(from.end),
                             static_cast<std::uint32_t>(to.begin), static_cast<std::uint32_t>(to.end), 1});
  }
  return segment;
}

/// Returns the text itself as its translation.
inline TranslatedSegment copied(std::string_view text) {
  TranslatedSegment segment{.text = std::string(text)};
  for (const core::TextRange& word : toy_words(text)) {
    const auto begin = static_cast<std::uint32_t>(word.begin);
    const auto end = static_cast<std::uint32_t>(word.end);
    segment.links.push_back({begin, end, begin, end, 1});
  }
  return segment;
}

template <class Translate>
std::string translated(std::string_view html, const Translate& translate) {
  const Document document{std::string(html)};
  std::vector<TranslatedSegment> translations;
  for (const Segment& segment : document.segments()) translations.push_back(translate(segment.text));
  return document.assemble(translations);
}

}  // namespace dragoman::markup
