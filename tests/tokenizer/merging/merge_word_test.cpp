#include "merging/merge_word.h"

#include "merging/merge_table.h"
#include "merging/merging_test_support.h"
#include "test_names.h"

#include <algorithm>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using testing::ids_of;
using testing::merge_naively;

struct Table {
  std::int32_t characters;
  std::size_t merges;
  bool shuffled;       ///< merges stand before those that make their sides
  bool two_spellings;  ///< some merges make a piece that exists
};

std::string test_name(const Table& table) {
  return fmt::format("{} characters {} merges{}{}", table.characters, table.merges, table.shuffled ? " shuffled" : "",
                     table.two_spellings ? " two spellings" : "");
}

class MergingTest : public ::testing::TestWithParam<Table> {
 protected:
  /// Each joins two symbols that exist by then.
  std::vector<Merge> random_merges() {
    std::vector<Merge> merges;
    std::map<std::pair<std::int32_t, std::int32_t>, bool> seen;
    std::int32_t symbols = GetParam().characters;
    while (merges.size() < GetParam().merges) {
      const auto any = [&] { return static_cast<std::int32_t>(random_() % static_cast<unsigned>(symbols)); };
      const std::int32_t left = any();
      const std::int32_t right = any();
      if (!seen.try_emplace({left, right}, true).second) continue;
      const bool again = GetParam().two_spellings && !merges.empty() && random_() % 4 == 0;
      merges.push_back({left, right, again ? merges[random_() % merges.size()].result : symbols++});
    }
    if (GetParam().shuffled) std::shuffle(merges.begin(), merges.end(), random_);
    return merges;
  }
  std::vector<Symbol> random_word(std::size_t size) {
    std::vector<Symbol> word(size);
    for (Symbol& symbol : word) {
      symbol.id = static_cast<std::int32_t>(random_() % static_cast<unsigned>(GetParam().characters));
      symbol.length = 1 + random_() % 4;
    }
    return word;
  }
  std::mt19937 random_{3};
};

TEST_P(MergingTest, WordsOfAnyLengthMergeAsDefined) {
  MergeBuffers buffers;
  for (int round = 0; round < 40; ++round) {
    const std::vector<Merge> merges = random_merges();
    const MergeTable table(merges);
    for (const std::size_t size : {0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 60, 200}) {
      std::vector<Symbol> expected = random_word(size);
      std::vector<Symbol> word = expected;
      merge_naively(merges, expected);
      merge_exact(table, word, buffers);
      ASSERT_EQ(ids_of(word), ids_of(expected)) << "round " << round << ", " << size << " symbols";
      for (std::size_t i = 0; i < word.size(); ++i) ASSERT_EQ(word[i].length, expected[i].length);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, MergingTest,
                         ::testing::Values(Table{2, 20, false, false}, Table{6, 30, false, false},
                                           Table{40, 60, false, false}, Table{40, 60, true, false},
                                           Table{12, 40, false, true}, Table{12, 40, true, true},
                                           Table{200, 900, false, false}, Table{1, 3, false, false}),
                         dragoman::testing::kParameterName);

TEST(MergeTable, FindsEveryPairAndNoOther) {
  std::mt19937 random(5);
  for (const std::size_t size : {0, 1, 2, 3, 100, 5000, 60000}) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> expected;
    std::vector<Merge> merges;
    while (merges.size() < size) {
      const Merge merge{static_cast<std::int32_t>(random() % 3000), static_cast<std::int32_t>(random() % 3000), 7};
      expected.try_emplace({merge.left, merge.right}, static_cast<std::uint32_t>(merges.size()));  // the first counts
      merges.push_back(merge);
    }
    const MergeTable table(merges);
    for (const auto& [pair, rank] : expected) ASSERT_EQ(table.rank(pair.first, pair.second), rank);
    for (int i = 0; i < 20000; ++i) {
      const std::pair pair{static_cast<std::int32_t>(random() % 4000), static_cast<std::int32_t>(random() % 4000)};
      const auto found = expected.find(pair);
      ASSERT_EQ(table.rank(pair.first, pair.second), found == expected.end() ? MergeTable::kNoRank : found->second);
    }
    EXPECT_EQ(table.rank(MergeTable::kNoPiece, MergeTable::kNoPiece), MergeTable::kNoRank);
    EXPECT_EQ(table.rank(MergeTable::kNoPiece, 1), MergeTable::kNoRank);
  }
}

/// The table says nothing that is wrong, and little that is not exact, since the filter is as large as the list.
TEST(MergeTable, KnowsTheLowestRankThatJoinsTwoCharacters) {
  const std::vector<Merge> merges = {{0, 1, 3}, {3, 2, 4}, {2, 0, 5}, {2, 3, 6}};  // ab, abc, ca, cab
  const MergeTable table(merges);
  EXPECT_EQ(table.join_rank(0, 1), 0);
  EXPECT_EQ(table.join_rank(1, 2), 1);
  EXPECT_EQ(table.join_rank(2, 0), 2);
  std::size_t none = 0;
  for (std::int32_t left = 100; left < 200; ++left)
    for (std::int32_t right = 100; right < 200; ++right) none += !table.may_join(left, right);
  EXPECT_GT(none, 9000);
}

}  // namespace
}  // namespace dragoman::tokenizer
