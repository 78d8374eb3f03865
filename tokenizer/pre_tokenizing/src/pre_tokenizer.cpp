#include "pre_tokenizing/pre_tokenizer.h"

#include <dragoman/core/stop_scope.h>
#include <dragoman/tokenizer/word_mark.h>

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

/// `first` means that no added token precedes the text.
AlignedText write_marks(PrependScheme scheme, bool first, AlignedText in) {
  constexpr std::string_view kMark = kWordMark;
  AlignedText out;
  core::StopCheck check("encoding a text");
  for (std::size_t i = 0; i < in.text.size(); ++i) {
    check();
    const std::string_view written = in.text[i] == ' ' ? kMark : std::string_view(in.text).substr(i, 1);
    out.text += written;
    if (!in.origin.empty()) out.origin.insert(out.origin.end(), written.size(), in.origin[i]);
  }
  if (!in.origin.empty()) out.origin.push_back(in.origin.back());
  const bool prepends = scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && first);
  if (prepends && !out.text.empty() && !out.text.starts_with(kMark)) put_in_front(kMark, out);
  return out;
}

bool puts_space_in_front(const TextDefinition& text) {
  const auto* bytes = std::get_if<ByteLevelText>(&text);
  return bytes != nullptr && bytes->add_prefix_space;
}

}  // namespace

PreTokenizer::PreTokenizer(const BpeDefinition& definition)
    : added_(AddedTokenFinder::in_raw_text(definition)),
      normalizer_(definition.normalizer()),
      symbols_(AddedTokenFinder::in_normal_text(definition)),
      words_(definition.text),
      inner_splits_(InnerSplits::of(definition)),
      add_prefix_space_(puts_space_in_front(definition.text)) {
  if (const Metaspace* metaspace = definition.metaspace()) metaspace_ = metaspace->prepend;
  if (const auto* text = std::get_if<SentencePieceText>(&definition.text))
    sentencepiece_.emplace(text->normalization, user_symbols(definition), "the tokenizer");
  if (const std::string& pattern = definition.inner_cuts().protected_pattern; !pattern.empty())
    protected_.emplace(pattern);
}

bool PreTokenizer::words_stand_alone() const {
  return !protected_ || protected_->stops_before(kWordMarkCharacter);
}

void PreTokenizer::for_each_pre_token(std::string_view text, bool match_special, bool track,
                                      core::FunctionRef<void(const PreToken&)> visit) const {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const AddedTokenFinder::Match match = added_.find(text, begin, match_special);
    if (begin < match.begin) visit_text(text.substr(begin, match.begin - begin), begin, track, visit);
    if (match.id >= 0)
      visit({.added_token = match.id, .text = {}, .origin = {}, .begin = match.begin, .end = match.end});
    begin = match.end;
  }
}

void PreTokenizer::visit_text(std::string_view text, std::size_t begin, bool track,
                              core::FunctionRef<void(const PreToken&)> visit) const {
  if (sentencepiece_) {
    AlignedText normal;
    sentencepiece_->apply(text, begin, track, normal);
    return visit_between_symbols(normal, visit);
  }
  AlignedText normal = normalizer_.apply(text, begin, track);
  if (add_prefix_space_ && !normal.text.empty() && normal.text.front() != ' ') put_in_front(" ", normal);
  if (metaspace_) normal = write_marks(*metaspace_, begin == 0, std::move(normal));
  visit_between_protected(normal, visit);
}

void PreTokenizer::visit_between_symbols(const AlignedText& normal,
                                         core::FunctionRef<void(const PreToken&)> visit) const {
  const auto origin = [&](std::size_t at) { return normal.origin.empty() ? 0 : normal.origin[at]; };
  for (std::size_t start = 0; start < normal.text.size();) {
    const AddedTokenFinder::Match match = symbols_.find(normal.text, start, false);
    visit_words({normal.text, normal.origin, start, match.begin, false}, visit);
    if (match.id >= 0)
      visit(
          {.added_token = match.id, .text = {}, .origin = {}, .begin = origin(match.begin), .end = origin(match.end)});
    start = match.end;
  }
}

void PreTokenizer::visit_between_protected(const AlignedText& normal,
                                           core::FunctionRef<void(const PreToken&)> visit) const {
  const std::string_view whole = normal.text;
  const std::span<const std::size_t> origin = normal.origin;
  std::size_t start = 0;
  if (protected_) {
    Pattern::Search search(*protected_, whole);
    for (auto match = search.next(); match; match = search.next()) {
      visit_words({whole, origin, start, match->begin, false}, visit);
      visit_words({whole, origin, match->begin, match->end, true}, visit);
      start = match->end;
    }
  }
  visit_words({whole, origin, start, whole.size(), false}, visit);
}

void PreTokenizer::visit_words(const Stretch& stretch, core::FunctionRef<void(const PreToken&)> visit) const {
  const std::string_view text = stretch.whole.substr(0, stretch.end);
  std::size_t start = stretch.begin;
  core::StopCheck check("encoding a text");
  while (start < stretch.end) {
    Stretch word = stretch;
    word.begin = start;
    word.end = words_.end(text, start);
    check(16 + word.end - start);
    visit_word(word, visit);
    start = words_.next(text, word.end);
  }
}

void PreTokenizer::visit_word(const Stretch& word, core::FunctionRef<void(const PreToken&)> visit) const {
  inner_splits_.for_each(word.whole, word.begin, word.end, [&](std::size_t begin, std::size_t end) {
    const auto origin = word.origin.empty() ? word.origin : word.origin.subspan(begin, end - begin + 1);
    visit({.added_token = -1,
           .text = word.whole.substr(begin, end - begin),
           .origin = origin,
           .is_protected = word.is_protected});
  });
}

}  // namespace dragoman::tokenizer
