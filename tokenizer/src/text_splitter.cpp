#include "text_splitter.h"

#include "word_pattern.h"

#include <algorithm>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

void add_space_in_front(AlignedText& text) {
  text.text.insert(text.text.begin(), ' ');
  if (!text.origin.empty()) text.origin.insert(text.origin.begin(), text.origin.front());
}

}  // namespace

TextSplitter::TextSplitter(const BpeDefinition& definition)
    : added_(definition),
      normalizer_(definition.normalizer),
      split_(definition.split),
      split_pattern_(definition.split_pattern),
      split_digits_(definition.split_digits),
      add_prefix_space_(definition.byte_level && definition.add_prefix_space) {}

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
  if (split_ != WordSplit::kBefore && split_ != WordSplit::kBetween) return pattern_word_end(split_, text, start);
  if (split_pattern_.empty()) return text.size();
  if (split_ == WordSplit::kBetween) return std::min(text.find(split_pattern_, start), text.size());
  const std::size_t own_mark = text.substr(start).starts_with(split_pattern_) ? split_pattern_.size() : 0;
  return std::min(text.find(split_pattern_, start + own_mark), text.size());
}

/// One digit, or all up to the next one or the end of the word.
std::size_t TextSplitter::end_of_part(std::string_view word, std::size_t start) {
  std::size_t end = start;
  while (end < word.size() && digit_length(word, end) == 0) end += core::decode_utf8(word, end).length;
  return end > start ? end : start + digit_length(word, start);
}

/// Where to look for the next word: behind what stands between words and vanishes.
std::size_t TextSplitter::after_word(std::string_view text, std::size_t end) const {
  if (split_ == WordSplit::kBetween) return end + split_pattern_.size();
  if (split_ == WordSplit::kWhiteSpace && end < text.size()) return end + core::decode_utf8(text, end).length;
  return end;
}

void TextSplitter::visit_words(std::string_view text, std::size_t begin, bool track,
                               core::FunctionRef<void(const TextUnit&)> visit) const {
  AlignedText normal = normalizer_.apply(text, begin, track);
  if (add_prefix_space_ && !normal.text.empty() && normal.text.front() != ' ') add_space_in_front(normal);
  const std::string_view whole = normal.text;
  std::size_t start = 0;
  while (start < whole.size()) {
    const std::size_t end = word_end(whole, start);
    while (start < end) {
      const std::size_t part_end = split_digits_ ? end_of_part(whole.substr(0, end), start) : end;
      const auto origin =
          track ? std::span(normal.origin).subspan(start, part_end - start + 1) : std::span<const std::size_t>();
      visit({.added_token = -1, .text = whole.substr(start, part_end - start), .origin = origin});
      start = part_end;
    }
    start = after_word(whole, end);
  }
}

}  // namespace dragoman::tokenizer
