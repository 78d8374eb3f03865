#include "batched_words_encoder.h"

#include "bpe/pattern_word_scanner.h"
#include "bpe/spaced_word_scanner.h"
#include "pre_tokenizing/gpt2_word_reader.h"

#include <algorithm>
#include <bit>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {
namespace {

/// The maximum number of waiting words, large enough that there are many new ones to merge together.
constexpr std::size_t kBlock = 512;
/// The number of words that are looked up at a time.
constexpr std::size_t kGroup = 32;
/// The number of words that are scanned while memory answers.
constexpr std::size_t kAhead = 32;
/// The number of lines that are searched for the bytes after the end of a line: one is enough unless lines are short.
constexpr std::size_t kLinesAhead = 4;
/// Longer words may have more symbols, including their mark, than a group accepts.
constexpr std::size_t kMaxBytesTogether = 4 * (WordGroup::kMaxSymbols - 1);

/// Returns the number of bytes that may be read from the first text on. Lines are adjacent, with a line feed between
/// them. Other texts may be anywhere, or nowhere if they are empty, so addresses are compared as integers.
std::size_t readable_bytes(std::span<const std::string_view> texts) {
  const auto address = [](const char* at) { return reinterpret_cast<std::uintptr_t>(at); };
  std::string_view last = texts.front();
  for (const std::string_view next : texts.subspan(1, std::min<std::size_t>(texts.size() - 1, kLinesAhead))) {
    if (address(next.data()) != address(last.data()) + last.size() + 1) break;
    last = next;
  }
  return static_cast<std::size_t>(last.data() + last.size() - texts.front().data());
}

bool words_are_between_spaces(const BpeDefinition& definition) {
  using Kind = NormalizerStep::Kind;
  const NormalizerSteps& steps = definition.normalizer();
  if (!definition.words_begin_at_marks() || steps.size() < 2) return false;
  const NormalizerStep& prepend = steps[steps.size() - 2];
  const NormalizerStep& replace = steps.back();
  return prepend.kind == Kind::kPrepend && prepend.content == kWordMark && replace.kind == Kind::kReplace &&
         replace.pattern == " " && replace.content == kWordMark &&
         std::all_of(steps.begin(), steps.end() - 2, stays_within_words);
}

/// Returns the pattern of a byte-level tokenizer if its matches are the words of unchanged text.
std::optional<WordPattern> pattern_of_text(const BpeDefinition& definition) {
  const auto* text = std::get_if<ByteLevelText>(&definition.text);
  return text != nullptr && text->normalizer.empty() && !text->add_prefix_space ? text->pattern : std::nullopt;
}

}  // namespace

bool BatchedWordsEncoder::applies_to(const BpeDefinition& definition, const PreTokenizer& pre_tokenizer,
                                     const EncodeOptions& options) {
  if (options.mode == EncodingMode::kDropout) return false;
  for (const AddedToken& token : definition.added_tokens)
    if (!token.special || options.match_special_tokens) return false;
  return pattern_of_text(definition) || (words_are_between_spaces(definition) && pre_tokenizer.words_stand_alone());
}

BatchedWordsEncoder::BatchedWordsEncoder(const BpeDefinition& definition, const PreTokenizer& pre_tokenizer,
                                         const BpeModel& model, const EncodeOptions& options)
    : pre_tokenizer_(pre_tokenizer),
      model_(model),
      options_(options),
      pattern_(pattern_of_text(definition)),
      mark_(pattern_ ? std::string_view() : kWordMark),
      plain_(definition),
      inner_splits_(InnerSplits::of(definition)),
      only_marks_(pattern_ || (plain_.exist() && definition.inner_cuts().protected_pattern.empty())),
      merges_together_(only_marks_ && options.mode == EncodingMode::kExact && model.merges_together()) {
  scanned_.resize(kBlock);
  words_.resize(kBlock);
  new_.resize(kBlock);
  new_ids_.resize(kBlock);
  new_symbols_.resize(kBlock);
  if (!pattern_) encode_mark();
}

void BatchedWordsEncoder::encode_mark() {
  try {
    std::vector<std::int32_t> mark;
    append_pre_token(kWordMark, mark);
    mark_ids_.resize(std::max(WordCache::kMaxBytes, PackedIds::bytes(mark.size())));
    PackedIds::pack(mark, mark_ids_.data());
  } catch (const core::Error&) {
    // The vocabulary cannot spell the mark. The error is reported for the first text with a superfluous space, if there
    // is one.
    mark_ids_.clear();
  }
}

void BatchedWordsEncoder::encode(std::string_view text, std::uint64_t /*line*/, std::vector<std::int32_t>& ids) {
  begin();
  add_words(text, text.size(), {ids, nullptr});
  flush({ids, nullptr});
}

void BatchedWordsEncoder::encode_all(std::span<const std::string_view> texts, std::uint64_t /*first_line*/,
                                     EncodedTexts& out) {
  begin();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    add_words(texts[i], readable_bytes(texts.subspan(i)), {out.ids, &out.offsets});
    ends_.push_back(waiting_);
  }
  flush({out.ids, &out.offsets});
}

/// Resets the state, since an exception may have ended the last call.
void BatchedWordsEncoder::begin() {
  waiting_ = 0;
  looked_up_ = 0;
  new_words_ = 0;
  ends_.clear();
}

void BatchedWordsEncoder::add_words(std::string_view text, std::size_t readable, const Output& output) {
  if (!pattern_)
    add_scanned(SpacedWordScanner(text, readable), output);
  else if (*pattern_ == WordPattern::kGpt2)
    add_scanned(PatternWordScanner(Gpt2WordReader(text, readable), text, readable), output);
  else
    add_scanned(PatternWordScanner(PatternWordReader(*pattern_, text), text, readable), output);
}

/// A word is looked up some time after it was scanned, when what the look-up reads has come from memory. Words of other
/// texts may come between, since many texts are short.
template <class Scanner>
void BatchedWordsEncoder::add_scanned(Scanner scanner, const Output& output) {
  while (scanner.more()) {
    if (waiting_ == kBlock) flush(output);
    const std::size_t end = std::min(looked_up_ + kGroup + kAhead, kBlock);
    std::size_t at = waiting_;
    for (; at < end && scanner.more(); ++at) {
      Scanned& word = scanned_[at];
      const std::string_view text = scanner.next(word.key);
      word.begin = text.data();
      word.size = text.size();
      cache_.prefetch(text, word.key);
    }
    waiting_ = at;
    if (at == end) look_up(kGroup);
  }
}

/// Whether a word is known is unpredictable: no branch and no store address depends on it until all are looked up.
void BatchedWordsEncoder::look_up(std::size_t count) {
  static constexpr std::uint8_t kNew = 0;
  const std::uint8_t* mark = mark_ids_.empty() ? &kNew : mark_ids_.data();
  std::uint64_t are_new = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Scanned& word = scanned_[looked_up_ + i];
    const std::uint8_t* ids = word.size == 0 ? mark : cache_.find(word.text(), word.key, &kNew);
    words_[looked_up_ + i] = ids;
    are_new |= std::uint64_t{ids == &kNew} << i;
  }
  for (; are_new != 0; are_new &= are_new - 1)
    new_[new_words_++] = looked_up_ + static_cast<std::size_t>(std::countr_zero(are_new));
  looked_up_ += count;
}

void BatchedWordsEncoder::flush(const Output& output) {
  core::check_stop("encoding a text");  // a block is encoded in some microseconds, unless its words are long
  while (looked_up_ < waiting_) look_up(std::min(kGroup, waiting_ - looked_up_));
  encode_new();
  write(output);
  // Only now, because the entries that were found must be unchanged until their ids are written.
  for (std::size_t i = 0; i < new_words_; ++i) {
    const PackedIds ids(new_ids_[i].bytes);
    if (ids.size() != NewIds::kElsewhere) cache_.insert(scanned_[new_[i]].text(), scanned_[new_[i]].key, ids);
  }
  begin();
}

/// Appends the ids of the waiting words, and ends the texts that end among them.
void BatchedWordsEncoder::write(const Output& output) const {
  constexpr std::size_t kAtOnce = 4;  // the number of ids that are always written; most words have no more
  std::size_t at = output.ids.size();
  std::size_t size = at + kAtOnce;
  for (std::size_t i = 0; i < waiting_; ++i) size += PackedIds(words_[i]).size();
  for (const auto& ids : others_) size += ids.size();
  output.ids.resize(size);
  std::int32_t* out = output.ids.data();
  auto end = ends_.begin();
  auto other = others_.begin();
  for (std::size_t i = 0;; ++i) {
    for (; end != ends_.end() && *end == i; ++end) output.offsets->push_back(at);
    if (i == waiting_) break;
    const PackedIds ids(words_[i]);
    if (ids.size() == NewIds::kElsewhere) {
      std::copy(other->begin(), other->end(), out + at);
      at += other++->size();
      continue;
    }
    for (std::size_t k = 0; k < kAtOnce; ++k) out[at + k] = ids[k];
    for (std::size_t k = kAtOnce; k < ids.size(); ++k) out[at + k] = ids[k];
    at += ids.size();
  }
  output.ids.resize(at);
}

void BatchedWordsEncoder::encode_new() {
  alone_.clear();
  others_.clear();
  split_new();
  model_.merge(group_, std::span(new_symbols_).first(new_words_));
  for (std::size_t i = 0; i < new_words_; ++i) {
    std::span<const std::int32_t> ids(new_symbols_[i].ids, new_symbols_[i].size);
    if (ids.empty()) ids = alone_.emplace_back(encode_alone(scanned_[new_[i]].text()));
    std::uint8_t* packed = new_ids_[i].bytes;
    words_[new_[i]] = packed;
    if (ids.size() <= NewIds::kMax) {
      PackedIds::pack(ids, packed);
    } else {
      packed[0] = NewIds::kElsewhere;
      others_.push_back(ids);
    }
  }
}

void BatchedWordsEncoder::split_new() {
  std::size_t most = 0;
  for (std::size_t i = 0; i < new_words_; ++i) {
    new_symbols_[i].size = 0;
    if (scanned_[new_[i]].size <= kMaxBytesTogether) most += mark_.size() + scanned_[new_[i]].size;
  }
  if (symbols_.size() < most) symbols_.resize(most);
  std::int32_t* begin = symbols_.data();
  for (std::size_t i = 0; i < new_words_; ++i) {
    const std::string_view word = scanned_[new_[i]].text();
    if (!merges_with_others(word)) continue;
    std::int32_t* end = model_.split(mark_, begin);
    if (end != nullptr) end = model_.split(word, end);
    if (end == nullptr || end > begin + WordGroup::kMaxSymbols) continue;
    new_symbols_[i] = {begin, static_cast<std::uint32_t>(end - begin)};
    begin = end;
  }
}

bool BatchedWordsEncoder::merges_with_others(std::string_view word) {
  return merges_together_ && word.size() <= kMaxBytesTogether && is_plain(word) &&
         (!inner_splits_.any() || is_one_part(word));
}

std::string_view BatchedWordsEncoder::marked(std::string_view word) {
  marked_word_ = mark_;
  marked_word_ += word;
  return marked_word_;
}

bool BatchedWordsEncoder::is_one_part(std::string_view word) {
  const std::string_view text = marked(word);
  return inner_splits_.end_of_first(text) == text.size();
}

std::vector<std::int32_t> BatchedWordsEncoder::encode_alone(std::string_view word) {
  std::vector<std::int32_t> ids;
  if (only_marks_ && is_plain(word)) {
    const std::string_view text = marked(word);
    inner_splits_.for_each(text, 0, text.size(), [&](std::size_t begin, std::size_t end) {
      append_pre_token(text.substr(begin, end - begin), ids);
    });
  } else {
    pre_tokenizer_.for_each_pre_token(word, false, false,
                                      [&](const PreToken& token) { append_pre_token(token.text, ids); });
  }
  return ids;
}

void BatchedWordsEncoder::append_pre_token(std::string_view text, std::vector<std::int32_t>& ids) {
  if (options_.mode == EncodingMode::kExact)
    model_.encode_rare_word(text, buffers_);  // common words are whole pieces, but these are cached
  else
    model_.encode_word(text, options_, buffers_);
  ids.reserve(buffers_.word.size());  // this may be a line without spaces
  for (const Symbol& symbol : buffers_.word) ids.push_back(symbol.id);
}

}  // namespace dragoman::tokenizer
