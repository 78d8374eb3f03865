#include "bpe/word_cache.h"

#include "bpe/spaced_word_scanner.h"

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::string random_word(std::mt19937& random, std::size_t longest) {
  std::string word(1 + random() % longest, ' ');
  for (char& c : word) c = static_cast<char>(random() % 4 == 0 ? random() : 'a' + random() % 3);
  return word;
}

/// Ids that follow from the word.
std::vector<std::int32_t> ids_of(const std::string& word) {
  std::vector<std::int32_t> ids(word.size() % 9);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>((i * 299593 + static_cast<unsigned char>(word[i]) * 8191) % (1U << 21));
  return ids;
}

TEST(PackedIds, GiveBackWhatWasPacked) {
  const std::vector<std::int32_t> ids = {0, 255, 256, 65535, 65536, (1 << 21) - 1, 1};
  std::vector<std::uint8_t> bytes(PackedIds::bytes(ids.size()));
  std::vector<std::int32_t> unpacked = {-1};
  PackedIds::pack(ids, bytes.data()).append_to(unpacked);
  EXPECT_THAT(unpacked, ElementsAre(-1, 0, 255, 256, 65535, 65536, (1 << 21) - 1, 1));
}

TEST(WordCache, GivesBackWhatWasPutInOrNothing) {
  WordCache cache;
  std::mt19937 random(4);
  std::size_t found = 0;
  // More words than it can hold, of all sizes, and sizes that it does not take.
  for (int i = 0; i < 300000; ++i) {
    const std::string word = random_word(random, random() % 3 == 0 ? 40 : 5);
    const std::vector<std::int32_t> ids = ids_of(word);
    const WordKey key = WordKey::of(word);
    if (const std::uint8_t* known = cache.find(word, key, nullptr); known != nullptr) {
      ++found;
      std::vector<std::int32_t> unpacked;
      PackedIds(known).append_to(unpacked);
      ASSERT_THAT(unpacked, ElementsAreArray(ids)) << ::testing::PrintToString(word);
    } else {
      std::vector<std::uint8_t> packed(PackedIds::bytes(ids.size()));
      cache.insert(word, key, PackedIds::pack(ids, packed.data()));
    }
  }
  EXPECT_GT(found, 50000U);
}

TEST(WordCache, KeepsWhatFitsAndTheLatest) {
  for (const std::size_t size : {1U, 15U, 16U, 31U, 32U, 300U})
    for (const std::size_t count : {0U, 1U, 5U, 6U, 10U, 11U, 200U}) {
      WordCache cache;
      const std::string word(size, 'x');
      std::vector<std::uint8_t> packed(PackedIds::bytes(count));
      cache.insert(word, WordKey::of(word), PackedIds::pack(std::vector<std::int32_t>(count, 7), packed.data()));
      const bool fits = size <= 15 ? count <= 5 : size <= 31 && count <= 10;
      EXPECT_EQ(cache.find(word, WordKey::of(word), nullptr) != nullptr, fits) << size << " bytes, " << count << " ids";
    }
}

/// Long words are compared in two overlapping halves.
TEST(WordCache, TellsLongWordsApart) {
  WordCache cache;
  std::vector<std::string> words;
  for (std::size_t size = 16; size <= WordCache::kLongest; ++size) {
    words.emplace_back(size, 'x');
    for (std::size_t place = 0; place < size; ++place) (words.emplace_back(size, 'x'))[place] = 'y';
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    ASSERT_EQ(cache.find(word, {}, nullptr), nullptr) << word;
    std::uint8_t packed[WordCache::kMaxBytes];
    cache.insert(word, {}, PackedIds::pack(std::vector{static_cast<std::int32_t>(i)}, packed));
    const std::uint8_t* known = cache.find(word, {}, nullptr);
    ASSERT_NE(known, nullptr) << word;
    ASSERT_EQ(PackedIds(known)[0], static_cast<std::int32_t>(i)) << word;
  }
}

/// How large a table becomes while words from a stock of so many come in random order, or ever new ones if it is 0.
std::size_t capacity_after(std::size_t stock) {
  // Unlike each other, as words are: numbers in a row are hashed badly by one seed in a thousand.
  static const std::vector<RecentWords<2>::Key> keys = [] {
    std::mt19937_64 random(7);
    std::vector<RecentWords<2>::Key> all(2000000);
    for (auto& key : all) key = {{random() | 1, random()}};
    return all;
  }();
  RecentWords<2> words;
  std::mt19937_64 random(6);
  for (std::uint64_t i = 0; i < keys.size(); ++i) {
    const RecentWords<2>::Key& key = keys[stock == 0 ? i : random() % stock];
    const std::uint64_t hash = hash_of(key);
    if (words.find(hash, key, nullptr) != nullptr) continue;
    RecentWords<2>::Entry entry;
    entry.key = key;
    words.insert(hash, entry);
  }
  return words.capacity();
}

TEST(RecentWords, GrowsWhileWhatItForgotComesBack) {
  const std::size_t usual = capacity_after(0);
  EXPECT_GT(usual, RecentWords<2>().capacity());
  EXPECT_LT(usual, 50000U) << "of ever new words a larger table would find no more";
  EXPECT_LE(capacity_after(100), usual);
  EXPECT_GE(capacity_after(50000), 50000U);
  EXPECT_LE(capacity_after(50000), 500000U);
  EXPECT_EQ(capacity_after(1000000), capacity_after(2000000)) << "there is a limit";
}

TEST(SpacedWordScanner, CutsLikeFindWithTheKeysOfTheWords) {
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::string line;
    for (std::size_t words = random() % 8; words > 0; --words) {
      line += random_word(random, random() % 4 == 0 ? 40 : 17);
      line += random() % 5 == 0 ? "  " : " ";
    }
    if (!line.empty() && random() % 2 == 0) line.pop_back();
    // What lies behind the line must not matter, be there little or much of it.
    const std::string behind = line + random_word(random, 40);
    const std::string_view text = std::string_view(behind).substr(0, line.size());
    const std::size_t readable = random() % 2 == 0 ? text.size() : behind.size();
    SpacedWordScanner scanner(text, readable);
    std::size_t begin = 0;
    for (bool more = !text.empty(); more;) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      ASSERT_TRUE(scanner.more());
      WordKey key{};
      const std::string_view word = scanner.next(key);
      ASSERT_EQ(word, text.substr(begin, end - begin));
      const WordKey expected = WordKey::of(word);
      if (word.size() <= WordKey::kInlineBytes) {
        ASSERT_EQ(key.hash, expected.hash);
        ASSERT_EQ(key.high, expected.high);
        ASSERT_EQ(key.low, expected.low);
      }
      more = end < text.size();
      begin = end + 1;
    }
    ASSERT_FALSE(scanner.more());
  }
}

}  // namespace
}  // namespace dragoman::tokenizer
