#include "learning/spilled_corpus.h"

#include "base/characters.h"
#include "learned_words.h"
#include "learning/learning_corpus.h"
#include "pre_tokenizing/pre_tokenizer.h"
#include "pre_tokenizing/spaced_words.h"

#include <algorithm>
#include <numeric>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// The number of words between checks of the stop request and reports of progress.
constexpr std::uint64_t kWordsPerReport = std::uint64_t{1} << 18;

void report_words(std::uint64_t words, const core::ProgressSink& progress, const std::stop_token& stop) {
  if (words % kWordsPerReport != 0) return;
  core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted,
                "interrupted while sorting words; nothing was written");
  core::report(progress, {.stage = "sort words", .done = words, .total = 0, .unit = "words", .figures = {}});
}

WordRun one_run(WordRuns& runs, const core::ProgressSink& progress, const std::stop_token& stop) {
  RunWriter writer(runs.folder());
  std::uint64_t n = 0;
  for (auto words = runs.merge(); words.next(); ++n) {
    report_words(n, progress, stop);
    writer.add(words.word(), words.count());
  }
  return writer.finish();
}

/// Processes words like text, in their order. Most words and their order are unchanged. The results for the others are
/// counted, and inserted in order after all words have come.
class WordChanges {
 public:
  WordChanges(const BpeDefinition& definition, const MemoryPlan& plan, const std::stop_token& stop)
      : effect_(effect_on_spaced_words(definition)),
        plain_(definition),
        pre_tokenizer_(definition),
        unchanged_(plan.temporary_folder),
        counts_(plan.table_bytes),
        runs_(plan.temporary_folder, stop) {}

  void add(std::string_view word, std::uint64_t count) {
    if (effect_ == SpacedWordEffect::kNone || (effect_ == SpacedWordEffect::kMark && plain_.contain(word)))
      unchanged_.add(word, count);
    else
      split(word, count);
  }

  WordRun finish(const core::ProgressSink& progress, const std::stop_token& stop) {
    WordRun unchanged = unchanged_.finish();
    if (!any_changed_) return unchanged;
    runs_.take(counts_);
    runs_.add(std::move(unchanged));
    return one_run(runs_, progress, stop);
  }

 private:
  /// Splits a word and counts its parts. As in LearningCorpus, the leading mark is omitted if every word has one.
  void split(std::string_view word, std::uint64_t count) {
    const std::size_t mark = effect_ == SpacedWordEffect::kMark ? std::string_view(kWordMark).size() : 0;
    any_changed_ = true;
    for_each_learned_word(pre_tokenizer_, word, [&](std::string_view learned) {
      if (learned.size() > mark) counts_.add(learned.substr(mark), count);
    });
    if (counts_.is_full()) runs_.take(counts_);
  }

  SpacedWordEffect effect_;
  PlainWords plain_;
  PreTokenizer pre_tokenizer_;
  RunWriter unchanged_;
  WordCounts counts_;
  WordRuns runs_;
  bool any_changed_ = false;
};

}  // namespace

SpilledCorpus::SpilledCorpus(WordRuns& words, std::uint64_t min_count, const BpeDefinition& definition,
                             const MemoryPlan& plan, const core::ProgressSink& progress, const std::stop_token& stop)
    : progress_(progress),
      stop_(stop),
      mark_is_implied_(effect_on_spaced_words(definition) == SpacedWordEffect::kMark),
      cells_by_count_(kSmall, 0) {
  WordChanges changes(definition, plan, stop);
  for (auto merged = words.merge(); merged.next();) {
    report_words(total_.words, progress, stop);
    total_.add(merged.count());
    if (merged.count() >= min_count)
      changes.add(merged.word(), merged.count());
    else
      dropped_.add(merged.count());
  }
  words_ = changes.finish(progress, stop);
}

template <class Visit>
void SpilledCorpus::for_each_word(Visit&& visit) const {
  std::uint64_t n = 0;
  for (RunReader reader(words_); reader.next(); ++n) {
    report_words(n, progress_, stop_);
    visit(reader.word(), reader.count());
  }
}

std::vector<CharacterCount> SpilledCorpus::count_characters() {
  CharacterCounts characters;
  double occurrences = 0;
  for_each_word([&](std::string_view word, std::uint64_t count) {
    std::uint64_t cells = 1;
    for_each_character(word, mark_is_implied_, [&](char32_t character, bool valid) {
      ++cells;
      if (valid) characters.add(character, count);
    });
    note_word(count, cells);
    occurrences += static_cast<double>(count) * static_cast<double>(cells);
  });
  check_corpus_size(cells(), occurrences);
  return characters.take_sorted();
}

void SpilledCorpus::note_word(std::uint64_t count, std::uint64_t cells) {
  if (count < kSmall)
    cells_by_count_[count] += cells;
  else
    frequent_.push_back({count, cells});
}

std::uint64_t SpilledCorpus::cells() const {
  std::uint64_t cells = std::accumulate(cells_by_count_.begin(), cells_by_count_.end(), std::uint64_t{1});
  for (const FrequentWord& word : frequent_) cells += word.cells;
  return cells;
}

std::uint64_t SpilledCorpus::min_count_for(std::uint64_t most_cells) const {
  std::uint64_t left = cells();
  for (std::uint64_t count = 1; count < kSmall; ++count) {
    left -= cells_by_count_[count];
    if (left <= most_cells) return count + 1;
  }
  return 0;
}

/// Returns where the cells of each frequent word begin.
std::vector<std::size_t> SpilledCorpus::place_frequent_words(PairStatistics::Text& text) const {
  std::vector<std::size_t> order(frequent_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return frequent_[a].count != frequent_[b].count ? frequent_[a].count > frequent_[b].count : a < b;
  });
  std::vector<std::size_t> places(frequent_.size());
  std::size_t cell = 1;
  for (const std::size_t i : order) {
    places[i] = cell;
    const auto weight = static_cast<std::int64_t>(frequent_[i].count);
    if (text.weights.empty() || text.weights.back().weight != weight)
      text.weights.push_back({static_cast<std::uint32_t>(cell), weight});
    cell += frequent_[i].cells;
  }
  return places;
}

/// Returns where the cells of the words of each count begin. The first of all is at `cell`.
std::vector<std::size_t> SpilledCorpus::place_rare_words(PairStatistics::Text& text, std::size_t cell) const {
  std::vector<std::size_t> places(kSmall, 0);
  for (std::uint64_t count = kSmall - 1; count > 0; --count) {
    places[count] = cell;
    if (cells_by_count_[count] == 0) continue;
    text.weights.push_back({static_cast<std::uint32_t>(cell), static_cast<std::int64_t>(count)});
    cell += cells_by_count_[count];
  }
  return places;
}

PairStatistics::Text SpilledCorpus::lay_out(const CharacterTable& ids) {
  PairStatistics::Text text;
  const std::vector<std::size_t> frequent = place_frequent_words(text);
  std::size_t first_rare = 1;
  for (const FrequentWord& word : frequent_) first_rare += word.cells;
  std::vector<std::size_t> rare = place_rare_words(text, first_rare);
  text.cells.resize(cells());
  text.cells[0] = PairStatistics::kBarrier;
  std::size_t frequent_seen = 0;
  for_each_word([&](std::string_view word, std::uint64_t count) {
    std::size_t cell = count < kSmall ? rare[count] : frequent[frequent_seen++];
    for_each_character(word, mark_is_implied_, [&](char32_t character, bool valid) {
      const std::int32_t id = valid ? ids.find(character) : -1;
      text.cells[cell++] = id >= 0 ? id : PairStatistics::kBarrier;
    });
    text.cells[cell++] = PairStatistics::kBarrier;
    if (count < kSmall) rare[count] = cell;
  });
  return text;
}

}  // namespace dragoman::tokenizer
