#include "learning_corpus.h"

#include "text_splitter.h"
#include "word_counts.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <tbb/parallel_for.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

constexpr char32_t kWordMarkCharacter = 0x2581;
constexpr std::size_t kBlockWords = std::size_t{1} << 14;

bool has_user_symbols(const BpeDefinition& definition) {
  return std::any_of(definition.added_tokens.begin(), definition.added_tokens.end(),
                     [](const AddedToken& token) { return !token.special; });
}

/// Whether words are marked and otherwise left as they are.
bool only_marks_words(const BpeDefinition& definition) {
  using Kind = NormalizerStep::Kind;
  const auto& steps = definition.normalizer;
  return !has_user_symbols(definition) && definition.split_pattern == kWordMark && steps.size() == 2 &&
         steps[0].kind == Kind::kPrepend && steps[1].kind == Kind::kReplace;
}

bool leaves_words_alone(const BpeDefinition& definition) {
  return !has_user_symbols(definition) && definition.split_pattern.empty() && definition.normalizer.empty();
}

}  // namespace

LearningCorpus::LearningCorpus(WordCounts words, const BpeDefinition& definition, ThreadArena& arena)
    : arena_(arena), mark_is_implied_(only_marks_words(definition)), counts_(std::move(words)) {
  if (mark_is_implied_)
    split_at_marks(definition);
  else if (!leaves_words_alone(definition))
    split_words(definition);
  words_ = counts_.by_count();
  for (std::size_t begin = 0; begin < words_.size(); begin += kBlockWords)
    blocks_.push_back({.begin = begin, .end = std::min(words_.size(), begin + kBlockWords), .characters = {}});
}

/// The few words that hold a mark themselves fall apart into several.
void LearningCorpus::split_at_marks(const BpeDefinition& definition) {
  std::vector<std::pair<std::string, std::uint64_t>> marked;
  counts_.for_each([&](std::string_view word, std::uint64_t count) {
    if (word.find(kWordMark) != std::string_view::npos) marked.emplace_back(word, count);
  });
  const TextSplitter splitter(definition);
  for (const auto& [word, count] : marked) counts_.remove(word);
  for (const auto& entry : marked)
    splitter.for_each_unit(entry.first, false, false, [&](const TextUnit& unit) {
      const std::string_view word = unit.text.substr(std::string_view(kWordMark).size());
      if (!word.empty()) counts_.add(word, entry.second);
    });
}

/// Normalising each distinct word once gives the same as normalising lines, since no form of Unicode normalisation
/// composes or reorders across a space.
void LearningCorpus::split_words(const BpeDefinition& definition) {
  const TextSplitter splitter(definition);
  const std::vector<WordCount> raw = counts_.by_count();
  ThreadCounts split;
  arena_.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, raw.size(), 1024), [&](const auto& range) {
      WordCounts& counts = split.local();
      for (std::size_t i = range.begin(); i < range.end(); ++i)
        splitter.for_each_unit(raw[i].word, false, false, [&](const TextUnit& unit) {
          if (unit.added_token < 0) counts.add(unit.text, raw[i].count);
        });
    });
    counts_ = split.join();
  });
}

/// visit(code point, whether it is one) of each character, the implied mark first.
template <class Visit>
void LearningCorpus::for_each_character(const WordCount& entry, Visit&& visit) const {
  if (mark_is_implied_) visit(kWordMarkCharacter, true);
  for (std::size_t i = 0; i < entry.word.size();) {
    const auto byte = static_cast<unsigned char>(entry.word[i]);
    if (byte < 0x80) {
      visit(byte, true);
      ++i;
      continue;
    }
    const core::DecodedCharacter c = core::decode_utf8(entry.word, i);
    visit(c.code_point, c.valid);
    i += c.length;
  }
}

void LearningCorpus::count_block(Block& block) const {
  CharacterTable places;
  for (std::size_t i = block.begin; i < block.end; ++i) {
    const std::uint64_t count = words_[i].count;
    for_each_character(words_[i], [&](char32_t character, bool valid) {
      ++block.cells;
      if (!valid) return;
      std::int32_t place = places.find(character);
      if (place < 0) {
        place = static_cast<std::int32_t>(block.characters.size());
        places.set(character, place);
        block.characters.push_back({character, 0});
      }
      block.characters[static_cast<std::size_t>(place)].count += count;
    });
    ++block.cells;
  }
}

std::vector<CharacterCount> LearningCorpus::count_characters() {
  arena_.execute(
      [&] { tbb::parallel_for(std::size_t{0}, blocks_.size(), [&](std::size_t b) { count_block(blocks_[b]); }); });
  std::vector<CharacterCount> counts;
  CharacterTable places;
  for (Block& block : blocks_) {
    for (const CharacterCount& entry : block.characters) {
      if (places.find(entry.character) < 0) {
        places.set(entry.character, static_cast<std::int32_t>(counts.size()));
        counts.push_back({entry.character, 0});
      }
      counts[static_cast<std::size_t>(places.find(entry.character))].count += entry.count;
    }
    block.characters = {};
  }
  std::sort(counts.begin(), counts.end(), [](const CharacterCount& a, const CharacterCount& b) {
    return a.count != b.count ? a.count > b.count : a.character < b.character;
  });
  return counts;
}

MergeLearner::Text LearningCorpus::lay_out(const CharacterTable& ids) {
  std::vector<std::size_t> begins(1, 1);
  for (const Block& block : blocks_) begins.push_back(begins.back() + block.cells);
  core::require(begins.back() <= MergeLearner::kMaxCells, core::ErrorCode::kBadInput,
                "the distinct words of the corpus hold more than {} characters; learn from a sample of its lines",
                MergeLearner::kMaxCells);
  MergeLearner::Text text;
  text.cells.resize(begins.back());
  text.cells[0] = MergeLearner::kBarrier;
  std::vector<std::vector<MergeLearner::Weight>> weights(blocks_.size());
  const auto lay_out_block = [&](std::size_t b) {
    std::size_t cell = begins[b];
    for (std::size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
      const auto weight = static_cast<std::int64_t>(words_[i].count);
      if (weights[b].empty() || weights[b].back().weight != weight)
        weights[b].push_back({static_cast<std::uint32_t>(cell), weight});
      for_each_character(words_[i], [&](char32_t character, bool valid) {
        const std::int32_t id = valid ? ids.find(character) : -1;
        text.cells[cell++] = id >= 0 ? id : MergeLearner::kBarrier;
      });
      text.cells[cell++] = MergeLearner::kBarrier;
    }
  };
  arena_.execute([&] { tbb::parallel_for(std::size_t{0}, blocks_.size(), lay_out_block); });
  for (const auto& of_block : weights)
    for (const MergeLearner::Weight& entry : of_block)
      if (text.weights.empty() || text.weights.back().weight != entry.weight) text.weights.push_back(entry);
  return text;
}

}  // namespace dragoman::tokenizer
