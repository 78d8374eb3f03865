#include "learning/learning_corpus.h"

#include "base/characters.h"
#include "learned_words.h"
#include "pre_tokenizing/pre_tokenizer.h"
#include "pre_tokenizing/spaced_words.h"
#include "reading/collect_words.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/prefetch.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t kBlockWords = std::size_t{1} << 14;

/// The total occurrences of pairs must fit in 63 bits. The sum is rounded, so the limit is well below.
constexpr double kMaxOccurrences = 4e18;

/// Prefetches a later word. Sorted words are scattered in memory.
void prefetch_word(std::span<const WordCount> words, std::size_t i) {
  constexpr std::size_t kWordsAhead = 16;
  if (i + kWordsAhead < words.size()) core::prefetch(words[i + kWordsAhead].word.data());
}

}  // namespace

void check_corpus_size(std::uint64_t cells, double occurrences) {
  core::require(cells <= kMaxCells, core::ErrorCode::kBadInput,
                "the distinct words of the corpus hold more than {} characters; leave out rare words, or learn from a "
                "sample of its lines",
                kMaxCells);
  core::require(occurrences < kMaxOccurrences, core::ErrorCode::kBadInput,
                "the corpus holds about {:.2g} characters, more than can be counted; divide the counts of its words",
                occurrences);
}

/// Normalising each distinct word once is equivalent to normalising lines, because no Unicode normalisation form
/// composes or reorders across a space.
WordCounts split_into_pre_tokens(const WordCounts& words, const BpeDefinition& definition, ThreadArena& arena) {
  const PreTokenizer pre_tokenizer(definition);
  const std::vector<WordCount> raw = words.by_count(arena);
  ThreadCounts split;
  split.for_each_block(arena, raw.size(), [&](WordCounts& counts, std::size_t i) {
    for_each_learned_word(pre_tokenizer, raw[i].word, [&](std::string_view word) { counts.add(word, raw[i].count); });
  });
  return split.join(arena);
}

LearningCorpus::LearningCorpus(WordCounts words, const BpeDefinition& definition, ThreadArena& arena)
    : arena_(arena),
      mark_is_implied_(effect_on_spaced_words(definition) == SpacedWordEffect::kMark),
      counts_(std::move(words)) {
  if (mark_is_implied_)
    split_at_marks(definition);
  else if (effect_on_spaced_words(definition) == SpacedWordEffect::kAny)
    counts_ = split_into_pre_tokens(counts_, definition, arena);
  words_ = counts_.by_count(arena);
  for (std::size_t begin = 0; begin < words_.size(); begin += kBlockWords)
    blocks_.push_back({.begin = begin, .end = std::min(words_.size(), begin + kBlockWords), .characters = {}});
}

/// The few words that contain a mark, or an escaped character, are changed or split into several words.
void LearningCorpus::split_at_marks(const BpeDefinition& definition) {
  const PlainWords plain(definition);
  std::vector<std::vector<std::pair<std::string, std::uint64_t>>> changed(WordCounts::kTables);
  arena_.for_each(changed.size(), [&](std::size_t t) {
    counts_.table(t).for_each([&](std::string_view word, std::uint64_t count) {
      if (!plain.contain(word)) changed[t].emplace_back(word, count);
    });
  });
  const PreTokenizer pre_tokenizer(definition);
  for (const auto& of_table : changed)
    for (const auto& entry : of_table) counts_.remove(entry.first);
  for (const auto& of_table : changed)
    for (const auto& entry : of_table)
      pre_tokenizer.for_each_pre_token(entry.first, false, false, [&](const PreToken& token) {
        const std::string_view word = token.text.substr(std::string_view(kWordMark).size());
        if (!word.empty()) counts_.add(word, entry.second);
      });
}

void LearningCorpus::count_block(Block& block) const {
  CharacterCounts characters;
  for (std::size_t i = block.begin; i < block.end; ++i) {
    prefetch_word(words_, i);
    const std::uint64_t count = words_[i].count;
    const std::size_t cells_before = block.cells;
    for_each_character(words_[i].word, mark_is_implied_, [&](char32_t character, bool valid) {
      ++block.cells;
      if (valid) characters.add(character, count);
    });
    ++block.cells;
    block.occurrences += static_cast<double>(count) * static_cast<double>(block.cells - cells_before);
  }
  block.characters = characters.take();
}

std::vector<CharacterCount> LearningCorpus::count_characters() {
  arena_.for_each(blocks_.size(), [&](std::size_t b) { count_block(blocks_[b]); });
  CharacterCounts counts;
  double occurrences = 0;
  for (Block& block : blocks_) {
    for (const CharacterCount& entry : block.characters) counts.add(entry.character, entry.count);
    block.characters = {};
    occurrences += block.occurrences;
  }
  check_corpus_size(cells(), occurrences);
  return counts.take_sorted();
}

std::uint64_t LearningCorpus::cells() const {
  std::uint64_t cells = 1;
  for (const Block& block : blocks_) cells += block.cells;
  return cells;
}

PairStatistics::Text LearningCorpus::lay_out(const CharacterTable& ids) {
  std::vector<std::size_t> begins(1, 1);
  for (const Block& block : blocks_) begins.push_back(begins.back() + block.cells);
  PairStatistics::Text text;
  text.cells.resize(begins.back());
  text.cells[0] = PairStatistics::kBarrier;
  std::vector<std::vector<PairStatistics::Weight>> weights(blocks_.size());
  const auto lay_out_block = [&](std::size_t b) {
    std::size_t cell = begins[b];
    for (std::size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
      prefetch_word(words_, i);
      const auto weight = static_cast<std::int64_t>(words_[i].count);
      if (weights[b].empty() || weights[b].back().weight != weight)
        weights[b].push_back({static_cast<std::uint32_t>(cell), weight});
      for_each_character(words_[i].word, mark_is_implied_, [&](char32_t character, bool valid) {
        const std::int32_t id = valid ? ids.find(character) : -1;
        text.cells[cell++] = id >= 0 ? id : PairStatistics::kBarrier;
      });
      text.cells[cell++] = PairStatistics::kBarrier;
    }
  };
  arena_.for_each(blocks_.size(), lay_out_block);
  for (const auto& of_block : weights)
    for (const PairStatistics::Weight& entry : of_block)
      if (text.weights.empty() || text.weights.back().weight != entry.weight) text.weights.push_back(entry);
  return text;
}

}  // namespace dragoman::tokenizer
