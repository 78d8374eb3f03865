#include "dragoman/core/hash.h"

#include "dragoman/core/fingerprint.h"
#include "dragoman/core/hash_tables.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dragoman::core {
namespace {

class Hash : public ::testing::Test {
 protected:
  Hash() : seeds_(hash_seeds) {}
  ~Hash() override { hash_seeds = seeds_; }

 private:
  HashSeeds seeds_;
};

std::vector<std::string> texts() {
  std::vector<std::string> texts;
  for (const char letter : {'a', '\0'})
    for (std::size_t size = 0; size < 70; ++size) texts.emplace_back(size, letter);
  for (int i = 0; i < 10'000; ++i) texts.push_back("word" + std::to_string(i));
  for (int i = 0; i < 10'000; ++i) texts.push_back(std::string(40, 'x') + std::to_string(i) + std::string(40, 'y'));
  texts.erase(texts.begin() + 70);  // the empty text again
  return texts;
}

// All 64 bits are used: the low ones as places, the top ones to choose a table.
TEST_F(Hash, TextsThatDifferHaveHashesThatDoInEveryPart) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    reseed_hashes(seed);
    std::set<std::uint64_t> hashes;
    std::vector<int> low(1024);
    std::vector<int> high(1024);
    const auto all = texts();
    for (const std::string& text : all) {
      const std::uint64_t hash = hash_bytes(text);
      hashes.insert(hash);
      ++low[hash % 1024];
      ++high[hash >> 54];
    }
    EXPECT_EQ(hashes.size(), all.size());
    // Twenty are expected in each.
    EXPECT_LT(*std::max_element(low.begin(), low.end()), 60);
    EXPECT_LT(*std::max_element(high.begin(), high.end()), 60);
  }
}

TEST_F(Hash, BytesBehindATextDoNotMatter) {
  const std::string text = "a text that is longer than a lane";
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_EQ(hash_bytes(std::string(text.substr(0, size))), hash_bytes(std::string_view(text).substr(0, size)));
}

TEST_F(Hash, OtherSeedsGiveOtherHashes) {
  reseed_hashes(1);
  const std::uint64_t text = hash_bytes("text");
  const std::uint64_t number = hash_integer(1);
  reseed_hashes(2);
  EXPECT_NE(hash_bytes("text"), text);
  EXPECT_NE(hash_integer(1), number);
}

/// Texts that all have the same low bits under the seeds of this moment.
std::vector<std::string> colliding_texts(std::size_t count) {
  constexpr std::uint64_t kMask = 0xFFF;
  std::vector<std::string> found;
  for (std::uint64_t i = 0; found.size() < count; ++i) {
    std::string text = "piece" + std::to_string(i);
    if ((hash_bytes(text) & kMask) == 0) found.push_back(std::move(text));
  }
  return found;
}

// Row 13 of issue 8: pieces that collide in one process must not in the next.
TEST_F(Hash, TextsThatCollideUnderOneSeedDoNotUnderAnother) {
  reseed_hashes(11);
  const auto texts = colliding_texts(1000);
  reseed_hashes(12);
  std::set<std::uint64_t> places;
  for (const std::string& text : texts) places.insert(hash_bytes(text) & 0xFFF);
  EXPECT_GT(places.size(), 800U) << "of 4096 places, 1000 random ones are 890 different ones";
}

TEST_F(Hash, ServesTablesOfTextsAndIntegers) {
  TextMap<int> numbers;
  IntegerMap<int, std::string> spelled;
  for (int i = -1000; i < 1000; ++i) {
    numbers.emplace(std::to_string(i), i);
    spelled.emplace(i, std::to_string(i));
  }
  TextViewMap<int> views;
  for (const auto& [text, number] : numbers) views.emplace(text, number);
  for (int i = -1000; i < 1000; ++i) {
    const std::string text = std::to_string(i);
    EXPECT_EQ(numbers.find(std::string_view(text))->second, i);
    EXPECT_EQ(views.at(text), i);
    EXPECT_EQ(spelled.at(i), text);
  }
  EXPECT_FALSE(numbers.contains("1000"));
}

TEST_F(Hash, OfChosenNumbersDoesNotCollide) {
  IntegerSet<std::uint64_t> table;
  for (std::uint64_t i = 0; i < 10000; ++i) table.insert(i);
  const std::uint64_t buckets = table.bucket_count();
  table.clear();
  for (std::uint64_t i = 0; i < 10000; ++i) table.insert(i * buckets);  // all in the first bucket by std::hash
  std::size_t largest = 0;
  for (std::size_t bucket = 0; bucket < table.bucket_count(); ++bucket)
    largest = std::max(largest, table.bucket_size(bucket));
  EXPECT_LT(largest, 20U);
}

TEST(Fingerprint, IsFnv1a) {
  // Published test vectors: http://www.isthe.com/chongo/tech/comp/fnv/
  EXPECT_EQ(fingerprint(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fingerprint("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fingerprint("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fingerprint("bar", fingerprint("foo")), fingerprint("foobar"));
  EXPECT_EQ(fingerprint_of_line("b", fingerprint_of_line("a")), fingerprint("a\nb\n"));
}

}  // namespace
}  // namespace dragoman::core
