#include "cached_encoder.h"

#include <algorithm>
#include <array>

namespace dragoman::tokenizer {
namespace {

/// How many words are fetched from memory at a time.
constexpr std::size_t kGroup = 32;

/// Steps that change characters, none of which looks beyond a space.
bool stays_within_words(const NormalizerStep& step) {
  using Kind = NormalizerStep::Kind;
  return step.kind == Kind::kNfc || step.kind == Kind::kNfd || step.kind == Kind::kNfkc || step.kind == Kind::kNfkd ||
         step.kind == Kind::kLowercase;
}

}  // namespace

bool CachedEncoder::applies_to(const BpeDefinition& definition, const EncodeOptions& options) {
  using Kind = NormalizerStep::Kind;
  if (options.mode == EncodingMode::kDropout || definition.split != WordSplit::kBefore ||
      definition.split_pattern != kWordMark || definition.byte_level || definition.end_of_word != EndOfWord::kNone ||
      definition.metaspace)
    return false;
  for (const AddedToken& token : definition.added_tokens)
    if (!token.special || options.match_special_tokens) return false;
  const auto& steps = definition.normalizer;
  if (steps.size() < 2) return false;
  const NormalizerStep& prepend = steps[steps.size() - 2];
  const NormalizerStep& replace = steps.back();
  return prepend.kind == Kind::kPrepend && prepend.content == kWordMark && replace.kind == Kind::kReplace &&
         replace.pattern == " " && replace.content == kWordMark &&
         std::all_of(steps.begin(), steps.end() - 2, stays_within_words);
}

CachedEncoder::CachedEncoder(const BpeDefinition& definition, const TextSplitter& splitter, const BpeModel& model,
                             const EncodeOptions& options)
    : splitter_(splitter),
      model_(model),
      options_(options),
      only_marks_(definition.normalizer.size() == 2 && !definition.split_digits) {
  append_unit(kWordMark, mark_ids_);
}

void CachedEncoder::encode(std::string_view text, std::uint64_t /*line*/, std::vector<std::int32_t>& ids) {
  struct Waiting {
    std::string_view word;
    WordKey key;
  };
  std::array<Waiting, kGroup> group;
  bool more = !text.empty();
  for (std::size_t begin = 0; more;) {
    std::size_t size = 0;
    for (; size < kGroup && more; ++size) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      const std::string_view word = text.substr(begin, end - begin);
      const WordKey key = text.size() - end >= 16 ? WordKey::padded(word) : WordKey::of(word);
      cache_.prefetch(key);
      group[size] = {word, key};
      more = end < text.size();
      begin = end + 1;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const auto& [word, key] = group[i];
      const WordCache::Ids known =
          word.empty() ? WordCache::Ids{mark_ids_.data(), mark_ids_.size()} : cache_.find(word, key);
      if (known.data != nullptr)
        ids.insert(ids.end(), known.data, known.data + known.size);
      else
        encode_new(word, key, ids);
    }
  }
}

void CachedEncoder::encode_new(std::string_view word, const WordKey& key, std::vector<std::int32_t>& ids) {
  const std::size_t first = ids.size();
  if (only_marks_ && word.find(kWordMark) == std::string_view::npos) {
    marked_word_ = kWordMark;
    marked_word_ += word;
    append_unit(marked_word_, ids);
  } else {
    splitter_.for_each_unit(word, false, false, [&](const TextUnit& unit) { append_unit(unit.text, ids); });
  }
  cache_.insert(word, key, std::span(ids).subspan(first));
}

void CachedEncoder::append_unit(std::string_view unit, std::vector<std::int32_t>& ids) {
  if (options_.mode == EncodingMode::kExact)
    model_.encode_rare_word(unit, buffers_);  // common words are whole pieces, but those are remembered
  else
    model_.encode_word(unit, options_, buffers_);
  for (const Symbol& symbol : buffers_.word) ids.push_back(symbol.id);
}

}  // namespace dragoman::tokenizer
