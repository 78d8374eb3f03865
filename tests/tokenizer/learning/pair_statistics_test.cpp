#include "learning/pair_statistics.h"

#include "test_names.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using Symbols = std::vector<std::int32_t>;

/// Counts everything afresh for each merge.
class NaiveLearner {
 public:
  NaiveLearner(std::vector<std::pair<Symbols, std::int64_t>> words, std::int64_t min_count)
      : words_(std::move(words)), min_count_(min_count) {}

  std::optional<PairStatistics::Pair> best() const {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> counts;
    for (const auto& [word, weight] : words_)
      for (std::size_t i = 0; i + 1 < word.size();) {
        std::size_t run = i;
        while (run + 1 < word.size() && word[run + 1] == word[i]) ++run;
        if (run > i) counts[{word[i], word[i]}] += weight * static_cast<std::int64_t>((run - i + 1) / 2);
        if (run + 1 < word.size()) counts[{word[run], word[run + 1]}] += weight;
        i = run + 1;
      }
    std::optional<PairStatistics::Pair> best;
    for (const auto& [pair, count] : counts)  // ascending pairs: the first of equals is the one to take
      if (count >= min_count_ && (!best || count > static_cast<std::int64_t>(best->count)))
        best = {pair.first, pair.second, static_cast<std::uint64_t>(count)};
    return best;
  }
  void merge(const PairStatistics::Pair& pair, std::int32_t result) {
    for (auto& [word, weight] : words_) {
      Symbols merged;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && word[i] == pair.left && word[i + 1] == pair.right;
        merged.push_back(here ? result : word[i]);
        if (here) ++i;
      }
      word = std::move(merged);
    }
  }

 private:
  std::vector<std::pair<Symbols, std::int64_t>> words_;
  std::int64_t min_count_;
};

struct CountedCase {
  std::int32_t alphabet;
  std::int64_t min_count;
  std::size_t shards;
  bool again;  ///< whether merges also lead to symbols that exist
  std::size_t merges = 0;
};

std::string test_name(const CountedCase& counted) {
  return fmt::format("{} symbols least {} shards {}{}{}", counted.alphabet, counted.min_count, counted.shards,
                     counted.again ? " again" : "",
                     counted.merges > 0 ? fmt::format(" of {} merges", counted.merges) : "");
}

PairStatistics::Text text_with(const std::vector<std::pair<Symbols, std::int64_t>>& words) {
  PairStatistics::Text text;
  text.cells.push_back(PairStatistics::kBarrier);
  for (const auto& [word, weight] : words) {
    if (text.weights.empty() || text.weights.back().weight != weight)
      text.weights.push_back({static_cast<std::uint32_t>(text.cells.size()), weight});
    text.cells.insert(text.cells.end(), word.begin(), word.end());
    text.cells.push_back(PairStatistics::kBarrier);
  }
  return text;
}

class MergeLearnerTest : public ::testing::TestWithParam<CountedCase> {
 protected:
  std::vector<std::pair<Symbols, std::int64_t>> random_words() {
    std::vector<std::pair<Symbols, std::int64_t>> words(40);
    for (auto& [word, weight] : words) {
      word.resize(1 + random_() % 12);
      for (std::int32_t& symbol : word)
        symbol = static_cast<std::int32_t>(random_() % static_cast<unsigned>(GetParam().alphabet));
      weight = 1 + static_cast<std::int64_t>(random_() % 4);
    }
    std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    return words;
  }
  std::mt19937 random_{20};
};

TEST_P(MergeLearnerTest, OffersWhatCountingAfreshFinds) {
  ThreadArena arena(3);
  for (int round = 0; round < 25; ++round) {
    const auto words = random_words();
    NaiveLearner naive(words, GetParam().min_count);
    PairStatistics learner(text_with(words), static_cast<std::uint64_t>(GetParam().min_count), arena,
                           {.shards = GetParam().shards, .worth_sharing = 0, .merges = GetParam().merges});
    std::vector<int> lengths(static_cast<std::size_t>(GetParam().alphabet), 1);
    for (int step = 0;; ++step) {
      const auto expected = naive.best();
      const auto best = learner.pop_best();
      ASSERT_EQ(best.has_value(), expected.has_value()) << "round " << round << ", step " << step;
      if (!best) break;
      ASSERT_EQ(std::tuple(best->left, best->right, best->count),
                std::tuple(expected->left, expected->right, expected->count))
          << "round " << round << ", step " << step;
      const int length = lengths[static_cast<std::size_t>(best->left)] + lengths[static_cast<std::size_t>(best->right)];
      std::int32_t result = static_cast<std::int32_t>(lengths.size());
      for (std::int32_t known = 0; GetParam().again && known < result; ++known)
        if (lengths[static_cast<std::size_t>(known)] == length && random_() % 2 == 0) result = known;
      if (result == static_cast<std::int32_t>(lengths.size())) lengths.push_back(length);
      naive.merge(*best, result);
      learner.merge(*best, result);
    }
  }
}

/// The words "ab", "xn", … as symbols, with their counts.
std::vector<std::pair<Symbols, std::int64_t>> spelled(std::vector<std::pair<std::string, std::int64_t>> words) {
  std::vector<std::pair<Symbols, std::int64_t>> symbols;
  for (const auto& [word, weight] : words) {
    symbols.push_back({{}, weight});
    for (const char letter : word) symbols.back().first.push_back(letter - 'a');
  }
  return symbols;
}

TEST(PairsAside, KeepTheirPlacesWhenTheirResultIsMadeAgain) {
  const auto words = spelled({{"ab", 35}, {"xn", 20}, {"cd", 18}, {"ef", 8}, {"xnab", 5}, {"ncd", 2}, {"nef", 2}});
  constexpr std::int32_t kMade = 26;
  constexpr std::int32_t kOther = 27;
  ThreadArena arena(1);
  NaiveLearner naive(words, 3);
  PairStatistics learner(text_with(words), 3, arena, {.shards = 1, .worth_sharing = 0, .merges = 2});
  // (n, made) is set aside at the first merge, occurs nowhere after the second, and comes back with the next two.
  for (const std::int32_t result : {kMade, kOther, kMade, kMade, 28, 29}) {
    const auto expected = naive.best();
    const auto best = learner.pop_best();
    ASSERT_TRUE(expected && best) << result;
    ASSERT_EQ(std::tuple(best->left, best->right, best->count),
              std::tuple(expected->left, expected->right, expected->count));
    naive.merge(*best, result);
    learner.merge(*best, result);
  }
  EXPECT_FALSE(naive.best());
  EXPECT_FALSE(learner.pop_best());
  EXPECT_FALSE(learner.pop_best());
}

INSTANTIATE_TEST_SUITE_P(
    Divisions, MergeLearnerTest,
    ::testing::Values(CountedCase{2, 1, 1, false}, CountedCase{2, 2, 1, true}, CountedCase{2, 1, 2, true},
                      CountedCase{2, 5, 3, true}, CountedCase{3, 2, 3, false}, CountedCase{3, 9, 2, true},
                      CountedCase{7, 1, 5, true}, CountedCase{7, 2, 1, true}, CountedCase{7, 3, 40, true},
                      CountedCase{2, 1, 1, true, 3}, CountedCase{2, 1, 2, false, 5}, CountedCase{3, 1, 2, true, 4},
                      CountedCase{3, 2, 3, false, 8}, CountedCase{7, 1, 1, true, 4}, CountedCase{7, 1, 2, false, 12},
                      CountedCase{7, 2, 3, true, 30}, CountedCase{2, 3, 2, true, 4}, CountedCase{3, 3, 1, true, 2},
                      CountedCase{3, 4, 2, true, 6}, CountedCase{7, 3, 3, true, 5}),
    dragoman::testing::kParameterName);

}  // namespace
}  // namespace dragoman::tokenizer
