#include "reading/word_table.h"

#include "base/word_key.h"

#include <map>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAreArray;

/// Words of every length around those at which keys change their form, over few letters so that many repeat.
std::vector<std::string> random_words(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> words(count);
  for (std::string& word : words) {
    const std::size_t length = 1 + random() % (random() % 10 == 0 ? 40 : 18);
    for (std::size_t i = 0; i < length; ++i)
      word += static_cast<char>(random() % 3 == 0 ? random() % 256 : 'a' + random() % 2);
  }
  return words;
}

std::map<std::string, std::uint64_t, std::less<>> listed(const WordCounts& counts) {
  std::map<std::string, std::uint64_t, std::less<>> all;
  counts.for_each([&](std::string_view word, std::uint64_t count) {
    EXPECT_TRUE(all.emplace(word, count).second) << "a word is listed twice";
  });
  return all;
}

TEST(WordKey, IsTheSameWithAndWithoutPaddingAndTellsWordsApart) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> seen;
  for (const std::string& word : random_words(20000, 3)) {
    if (word.size() > WordKey::kInlineBytes) continue;
    const WordKey key = WordKey::of(word);
    const std::string padded = word + std::string(16, '\xA7');
    const WordKey same = WordKey::padded(std::string_view(padded).substr(0, word.size()));
    ASSERT_EQ(std::tie(key.low, key.high, key.hash), std::tie(same.low, same.high, same.hash));
    ASSERT_EQ(seen.emplace(std::pair(key.low, key.high), word).first->second, word);
  }
}

TEST(WordCounts, CountLikeAMap) {
  WordCounts counts;
  std::map<std::string, std::uint64_t, std::less<>> expected;
  for (const std::string& word : random_words(200000, 1)) {
    counts.add(word, 1 + word.size() % 3);
    expected[word] += 1 + word.size() % 3;
  }
  EXPECT_EQ(listed(counts), expected);
}

TEST(WordCounts, AForgottenWordIsNotListedAndCanComeBack) {
  WordCounts counts;
  for (const char* word : {"short", "a word that is longer than a key", "other"}) counts.add(word, 5);
  for (const char* word : {"short", "a word that is longer than a key", "never seen"}) counts.remove(word);
  EXPECT_EQ(listed(counts).size(), 1U);
  counts.add("short", 2);
  EXPECT_EQ(listed(counts), (std::map<std::string, std::uint64_t, std::less<>>{{"other", 5}, {"short", 2}}));
}

TEST(WordCounts, ComeByFallingCount) {
  WordCounts counts;
  std::mt19937 random(9);
  for (const std::string& word : random_words(20000, 2))
    counts.add(word, random() % 50 == 0 ? 1000 + random() % 100000 : 1 + random() % 4);
  ThreadArena arena(3);
  const std::vector<WordCount> words = counts.by_count(arena);
  EXPECT_EQ(words.size(), listed(counts).size());
  for (std::size_t i = 1; i < words.size(); ++i) ASSERT_GE(words[i - 1].count, words[i].count) << i;
  const auto all = listed(counts);
  for (const WordCount& entry : words) ASSERT_EQ(all.at(std::string(entry.word)), entry.count);
}

}  // namespace
}  // namespace dragoman::tokenizer
