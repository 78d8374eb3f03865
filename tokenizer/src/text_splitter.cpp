#include "text_splitter.h"

#include <algorithm>

namespace dragoman::tokenizer {

TextSplitter::TextSplitter(const BpeDefinition& definition)
    : added_(definition), normalizer_(definition.normalizer), split_pattern_(definition.split_pattern) {}

void TextSplitter::for_each_unit(std::string_view text, bool match_special, bool track,
                                 core::FunctionRef<void(const TextUnit&)> visit) const {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const AddedTokens::Match match = added_.find(text, begin, match_special);
    if (begin < match.begin) visit_words(text.substr(begin, match.begin - begin), begin, track, visit);
    if (match.id >= 0)
      visit({.added_token = match.id, .text = {}, .origin = {}, .begin = match.begin, .end = match.end});
    begin = match.end;
  }
}

std::size_t TextSplitter::word_end(std::string_view text, std::size_t start) const {
  if (split_pattern_.empty()) return text.size();
  const std::size_t own_mark = text.substr(start).starts_with(split_pattern_) ? split_pattern_.size() : 0;
  return std::min(text.find(split_pattern_, start + own_mark), text.size());
}

void TextSplitter::visit_words(std::string_view text, std::size_t begin, bool track,
                               core::FunctionRef<void(const TextUnit&)> visit) const {
  const AlignedText normal = normalizer_.apply(text, begin, track);
  const std::string_view whole = normal.text;
  std::size_t start = 0;
  while (start < whole.size()) {
    const std::size_t end = word_end(whole, start);
    const auto origin =
        track ? std::span(normal.origin).subspan(start, end - start + 1) : std::span<const std::size_t>();
    visit({.added_token = -1, .text = whole.substr(start, end - start), .origin = origin});
    start = end;
  }
}

}  // namespace dragoman::tokenizer
