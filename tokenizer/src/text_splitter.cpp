#include "text_splitter.h"

#include "word_pattern.h"

#include <algorithm>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

std::vector<std::string_view> user_symbols(const BpeDefinition& definition) {
  std::vector<std::string_view> symbols;
  for (const AddedToken& token : definition.added_tokens)
    if (!token.special) symbols.emplace_back(definition.pieces[static_cast<std::size_t>(token.id)]);
  return symbols;
}

void put_in_front(std::string_view prefix, AlignedText& text) {
  text.text.insert(0, prefix);
  if (!text.origin.empty()) text.origin.insert(text.origin.begin(), prefix.size(), text.origin.front());
}

/// `first`: the text is not behind an added token.
AlignedText write_marks(PrependScheme scheme, bool first, AlignedText in) {
  constexpr std::string_view kMark = kWordMark;
  AlignedText out;
  for (std::size_t i = 0; i < in.text.size(); ++i) {
    const std::string_view written = in.text[i] == ' ' ? kMark : std::string_view(in.text).substr(i, 1);
    out.text += written;
    if (!in.origin.empty()) out.origin.insert(out.origin.end(), written.size(), in.origin[i]);
  }
  if (!in.origin.empty()) out.origin.push_back(in.origin.back());
  const bool prepends = scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && first);
  if (prepends && !out.text.empty() && !out.text.starts_with(kMark)) put_in_front(kMark, out);
  return out;
}

}  // namespace

TextSplitter::TextSplitter(const BpeDefinition& definition)
    : added_(AddedTokens::in_raw_text(definition)),
      normalizer_(definition.normalizer),
      metaspace_(definition.metaspace),
      symbols_(AddedTokens::in_normal_text(definition)),
      split_(definition.split),
      split_pattern_(definition.split_pattern),
      split_digits_(definition.split_digits),
      add_prefix_space_(definition.byte_level && definition.add_prefix_space) {
  if (definition.sentencepiece)
    sentencepiece_.emplace(*definition.sentencepiece, user_symbols(definition), "the tokenizer");
}

void TextSplitter::for_each_unit(std::string_view text, bool match_special, bool track,
                                 core::FunctionRef<void(const TextUnit&)> visit) const {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const AddedTokens::Match match = added_.find(text, begin, match_special);
    if (begin < match.begin) visit_stretch(text.substr(begin, match.begin - begin), begin, track, visit);
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

void TextSplitter::visit_stretch(std::string_view text, std::size_t begin, bool track,
                                 core::FunctionRef<void(const TextUnit&)> visit) const {
  if (sentencepiece_) {
    AlignedText normal;
    sentencepiece_->apply(text, begin, track, normal);
    return visit_words_and_symbols(normal, visit);
  }
  AlignedText normal = normalizer_.apply(text, begin, track);
  if (add_prefix_space_ && !normal.text.empty() && normal.text.front() != ' ') put_in_front(" ", normal);
  if (metaspace_) normal = write_marks(*metaspace_, begin == 0, std::move(normal));
  visit_words(normal, 0, normal.text.size(), visit);
}

void TextSplitter::visit_words_and_symbols(const AlignedText& normal,
                                           core::FunctionRef<void(const TextUnit&)> visit) const {
  const auto origin = [&](std::size_t at) { return normal.origin.empty() ? 0 : normal.origin[at]; };
  for (std::size_t start = 0; start < normal.text.size();) {
    const AddedTokens::Match match = symbols_.find(normal.text, start, false);
    visit_words(normal, start, match.begin, visit);
    if (match.id >= 0)
      visit(
          {.added_token = match.id, .text = {}, .origin = {}, .begin = origin(match.begin), .end = origin(match.end)});
    start = match.end;
  }
}

void TextSplitter::visit_words(const AlignedText& normal, std::size_t start, std::size_t end,
                               core::FunctionRef<void(const TextUnit&)> visit) const {
  const std::string_view text = std::string_view(normal.text).substr(0, end);
  while (start < end) {
    const std::size_t end_of_word = word_end(text, start);
    while (start < end_of_word) {
      const std::size_t part_end = split_digits_ ? end_of_part(text.substr(0, end_of_word), start) : end_of_word;
      const auto origin = normal.origin.empty() ? std::span<const std::size_t>()
                                                : std::span(normal.origin).subspan(start, part_end - start + 1);
      visit({.added_token = -1, .text = text.substr(start, part_end - start), .origin = origin});
      start = part_end;
    }
    start = after_word(text, end_of_word);
  }
}

}  // namespace dragoman::tokenizer
