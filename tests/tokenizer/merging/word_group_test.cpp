#include "merging/word_group.h"

#include "merging/merge_word.h"
#include "merging/merging_test_support.h"
#include "test_names.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace dragoman::tokenizer {
namespace {

using testing::ids_of;
using testing::merge_naively;

/// Merges in an order in which each stands behind those that make its sides; some make a piece a second time.
struct Vocabulary {
  std::vector<Merge> merges;
  std::int32_t characters;
  std::int32_t pieces;
};

Vocabulary random_vocabulary(std::mt19937& random, std::int32_t characters, std::size_t size, bool two_spellings) {
  Vocabulary made{{}, characters, characters};
  std::set<std::pair<std::int32_t, std::int32_t>> pairs;
  std::set<std::int32_t> sides;
  const auto any = [&] { return static_cast<std::int32_t>(random() % static_cast<unsigned>(made.pieces)); };
  while (made.merges.size() < size) {
    const std::int32_t left = any();
    const std::int32_t right = any();
    if (!pairs.insert({left, right}).second) continue;
    sides.insert({left, right});
    const std::int32_t again = any();
    const bool is_again = two_spellings && again >= characters && !sides.contains(again);
    made.merges.push_back({left, right, is_again ? again : made.pieces++});
  }
  return made;
}

/// Words in which merges can be made: pieces taken apart again, the frequent ones often.
std::vector<std::int32_t> random_word(std::mt19937& random, const Vocabulary& vocabulary, std::size_t size) {
  std::map<std::int32_t, Merge> made_by;
  for (const Merge& merge : vocabulary.merges) made_by.try_emplace(merge.result, merge);
  std::vector<std::int32_t> word;
  while (word.size() < size) {
    const unsigned below = 1 + static_cast<unsigned>(random()) % static_cast<unsigned>(vocabulary.pieces);
    std::vector<std::int32_t> open = {static_cast<std::int32_t>(random() % below)};
    while (!open.empty() && word.size() < size) {
      const std::int32_t id = open.back();
      open.pop_back();
      const auto made = made_by.find(id);
      if (made == made_by.end()) {
        word.push_back(id);
      } else {
        open.push_back(made->second.right);
        open.push_back(made->second.left);
      }
    }
  }
  return word;
}

/// Merges the words together, and each by the definition.
void expect_exact(const Vocabulary& vocabulary, const std::vector<std::vector<std::int32_t>>& words, WordGroup& group,
                  const std::string& what) {
  const MergeTable table(vocabulary.merges);
  ASSERT_FALSE(rounds_matter(vocabulary.merges, static_cast<std::size_t>(vocabulary.pieces))) << what;
  std::vector<std::vector<std::int32_t>> merged = words;
  std::vector<WordIds> spans;
  for (auto& word : merged) spans.push_back({word.data(), static_cast<std::uint32_t>(word.size())});
  group.merge(table, spans);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::vector<Symbol> expected;
    for (const std::int32_t id : words[i]) expected.push_back({id, 1});
    merge_naively(vocabulary.merges, expected);
    merged[i].resize(spans[i].size);
    ASSERT_EQ(merged[i], ids_of(expected)) << what << ", word " << i << " of " << words.size();
  }
}

/// With each kind of vectors that this processor has.
class WordGroupWith : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::DisableTargets(GetParam()); }
  void TearDown() override { hwy::DisableTargets(0); }
};

TEST_P(WordGroupWith, MergesWordsTogetherAsTheDefinitionDoesAlone) {
  WordGroup group;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const auto characters = static_cast<std::int32_t>(1 + random() % (seed % 3 == 0 ? 3 : 60));
    const std::size_t most = seed % 2 == 0 ? 3 * static_cast<std::size_t>(characters) : 400;
    const Vocabulary vocabulary =
        random_vocabulary(random, characters, std::min<std::size_t>(most, characters * characters), seed % 4 >= 2);
    for (const std::size_t count : {0, 1, 2, 31, 32, 33, 70}) {
      std::vector<std::vector<std::int32_t>> words(count);
      for (auto& word : words) word = random_word(random, vocabulary, random() % (seed % 5 == 0 ? 60 : 18));
      expect_exact(vocabulary, words, group, "seed " + std::to_string(seed));
    }
  }
}

TEST_P(WordGroupWith, MergesTheLongestWordsAndThoseOfOneCharacter) {
  WordGroup group;
  std::mt19937 random(3);
  const Vocabulary vocabulary = random_vocabulary(random, 5, 200, false);
  // aa, aaaa, aaa: runs merge from the left, and what is left over last.
  const Vocabulary runs{{{0, 0, 1}, {1, 1, 2}, {1, 0, 3}}, 1, 4};
  for (const std::size_t size : {WordGroup::kMaxSymbols, WordGroup::kMaxSymbols - 1}) {
    expect_exact(vocabulary, {random_word(random, vocabulary, size), {}, {1}, random_word(random, vocabulary, 100)},
                 group, "long words");
    expect_exact(runs, {std::vector<std::int32_t>(size, 0), std::vector<std::int32_t>(7, 0)}, group, "runs");
  }
}

#if HWY_ARCH_X86
constexpr std::int64_t kDisabled[] = {0, HWY_AVX2 - 1, HWY_SSSE3 - 1};  // targets that are better have lower bits
#else
constexpr std::int64_t kDisabled[] = {0};
#endif
INSTANTIATE_TEST_SUITE_P(Vectors, WordGroupWith, ::testing::ValuesIn(kDisabled), dragoman::testing::kParameterName);

}  // namespace
}  // namespace dragoman::tokenizer
