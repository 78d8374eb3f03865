#include "merging/linear_merger.h"

#include "merging/merge_word.h"
#include "merging/merging_test_support.h"
#include "tokenizer_test_support.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using testing::ids_of;
using testing::merge_naively;

/// A table with what makes words of it.
struct TestTable {
  explicit TestTable(std::vector<Merge> of_merges, std::size_t of_pieces)
      : merges(std::move(of_merges)), pieces(of_pieces), table(merges), linear(merges, table, pieces) {}

  /// The symbols that a piece consists of.
  void append_symbols_of(std::int32_t piece, std::vector<Symbol>& word) const {
    const auto made = std::find_if(merges.begin(), merges.end(), [&](const Merge& m) { return m.result == piece; });
    if (made == merges.end()) return word.push_back({piece, 1 + static_cast<std::uint32_t>(piece) % 4});
    append_symbols_of(made->left, word);
    append_symbols_of(made->right, word);
  }

  std::vector<Merge> merges;
  std::size_t pieces;
  MergeTable table;
  LinearMerger linear;
};

std::vector<Symbol> word_of(const std::vector<std::int32_t>& ids) {
  std::vector<Symbol> word;
  for (const std::int32_t id : ids) word.push_back({id, 1 + static_cast<std::uint32_t>(id) % 4});
  return word;
}

void expect_same(const std::vector<Symbol>& actual, const std::vector<Symbol>& expected, const std::string& what) {
  ASSERT_EQ(ids_of(actual), ids_of(expected)) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_EQ(actual[i].length, expected[i].length) << what;
}

/// By the definition, or, where that takes too long, by the heap.
void expect_exact(const TestTable& table, const std::vector<Symbol>& word, const std::string& what) {
  constexpr std::size_t kMaxNaively = 300;
  std::vector<Symbol> expected = word;
  MergeBuffers buffers;
  if (word.size() <= kMaxNaively)
    merge_naively(table.merges, expected);
  else
    merge_exact(table.table, expected, buffers);
  std::vector<Symbol> actual = word;
  ASSERT_TRUE(table.linear.merge(actual).has_value()) << what;
  expect_same(actual, expected, what);
}

/// Any pair that stands in a random word is merged everywhere, then any that stands there by then, and so on.
TestTable random_proper_table(std::mt19937& random, std::int32_t characters, std::size_t size) {
  std::vector<std::int32_t> word(3 * size);
  for (std::int32_t& id : word) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(characters));
  std::vector<Merge> merges;
  std::int32_t next = characters;
  while (merges.size() < size && word.size() > 1) {
    const std::size_t at = random() % (word.size() - 1);
    const Merge merge{word[at], word[at + 1], next++};
    merges.push_back(merge);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < word.size(); ++i, ++kept) {
      const bool merges_here = i + 1 < word.size() && word[i] == merge.left && word[i + 1] == merge.right;
      word[kept] = merges_here ? merge.result : word[i];
      if (merges_here) ++i;
    }
    word.resize(kept);
  }
  return TestTable(std::move(merges), static_cast<std::size_t>(next));
}

/// Pieces of the table one behind the other, among them symbols.
std::vector<Symbol> word_of_pieces(const TestTable& table, std::mt19937& random, std::size_t size) {
  std::vector<Symbol> word;
  while (word.size() < size) table.append_symbols_of(static_cast<std::int32_t>(random() % table.pieces), word);
  word.resize(size);
  return word;
}

TEST(LinearMerging, EqualsTheDefinitionForProperTables) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::int32_t characters = 1 + static_cast<std::int32_t>(random() % 5);
    const TestTable table = random_proper_table(random, characters, 1 + random() % 60);
    ASSERT_TRUE(table.linear.is_proper()) << seed;
    for (const std::size_t size : {0, 1, 2, 3, 5, 8, 33, 34, 64, 100, 257}) {
      expect_exact(table, word_of_pieces(table, random, size), "seed " + std::to_string(seed));
      std::vector<std::int32_t> ids(size);
      for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(characters));
      expect_exact(table, word_of(ids), "seed " + std::to_string(seed) + ", random symbols");
    }
  }
}

TEST(LinearMerging, EqualsTheHeapForLongWords) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const TestTable table = random_proper_table(random, 2 + static_cast<std::int32_t>(seed) * 2, 200);
    for (const std::size_t size : {301, 1000, 4096, 5000})
      expect_exact(table, word_of_pieces(table, random, size), "seed " + std::to_string(seed));
  }
}

/// Whatever the proof lets through must be exact, however the table came about: with merges that repeat others, stand
/// before those of their sides, spell a piece again, or can never happen because another always comes before.
TEST(LinearMerging, EqualsTheDefinitionForAllTablesThatTheProofAccepts) {
  std::size_t proper = 0;
  std::size_t improper = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    const std::int32_t characters = 1 + static_cast<std::int32_t>(random() % 3);
    std::vector<Merge> merges(1 + random() % 12);
    const std::int32_t pieces = characters + static_cast<std::int32_t>(merges.size());
    const auto below = [&](std::int32_t end) {
      return static_cast<std::int32_t>(random() % static_cast<unsigned>(end));
    };
    const std::size_t odd = seed % 2 == 0 ? merges.size() : random() % merges.size();  // any of them, or none
    std::int32_t next = characters;
    for (std::size_t i = 0; i < merges.size(); ++i, ++next)
      merges[i] = i == odd ? Merge{below(pieces), below(pieces), below(pieces)} : Merge{below(next), below(next), next};
    const TestTable table(merges, static_cast<std::size_t>(pieces));
    ++(table.linear.is_proper() ? proper : improper);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::int32_t> ids(2 + random() % 12);
      for (std::int32_t& id : ids) id = below(i < 15 ? characters : pieces);
      const std::vector<Symbol> word = word_of(ids);
      std::vector<Symbol> expected = word;
      std::vector<Symbol> actual = word;
      if (table.linear.merge(actual)) merge_naively(merges, expected);
      expect_same(actual, expected, "seed " + std::to_string(seed));
    }
  }
  EXPECT_GT(proper, 500U);
  EXPECT_GT(improper, 500U);
}

TEST(LinearMerging, RefusesTablesThatAreNotProper) {
  const auto is_proper = [](const std::vector<Merge>& merges) { return TestTable(merges, 6).linear.is_proper(); };
  EXPECT_TRUE(is_proper({}));
  EXPECT_TRUE(is_proper({{0, 1, 3}, {3, 2, 4}}));
  EXPECT_TRUE(is_proper({{0, 0, 3}, {3, 3, 4}, {4, 0, 5}}));
  EXPECT_FALSE(is_proper({{3, 2, 4}, {0, 1, 3}})) << "abc = ab + c stands before ab, its left side";
  EXPECT_FALSE(is_proper({{2, 3, 4}, {0, 1, 3}})) << "cab = c + ab stands before ab, its right side";
  EXPECT_FALSE(is_proper({{0, 1, 3}, {1, 2, 4}, {3, 2, 5}, {0, 4, 5}})) << "abc = ab + c and a + bc";
  EXPECT_FALSE(is_proper({{0, 1, 3}, {0, 1, 4}})) << "a + b twice";
  EXPECT_FALSE(is_proper({{0, 1, 0}})) << "a = a + b makes its left side";
  EXPECT_FALSE(is_proper({{0, 1, 1}})) << "b = a + b makes its right side";
}

TEST(LinearMerging, LeavesWordsAsTheyAreWhereItDoesNotApply) {
  const std::vector<std::int32_t> ids = {0, 1, 2, 3, 0, 1};
  std::vector<Symbol> word = word_of(ids);
  EXPECT_FALSE(TestTable({{3, 2, 4}, {0, 1, 3}}, 5).linear.merge(word).has_value());
  EXPECT_EQ(ids_of(word), ids);
  const TestTable table({{0, 1, 3}, {3, 2, 4}}, 5);
  ASSERT_TRUE(table.linear.is_proper());
  EXPECT_FALSE(table.linear.merge(word).has_value()) << "ab stands in the word as a symbol";
  EXPECT_EQ(ids_of(word), ids);
  word = word_of({0, 1, 2, 0, 1});
  EXPECT_TRUE(table.linear.merge(word).has_value());
  EXPECT_EQ(ids_of(word), (std::vector<std::int32_t>{4, 3}));
}

TEST(LinearMerging, TheMergeThatComesFirstCounts) {
  const TestTable table({{1, 2, 3}, {0, 1, 4}, {4, 2, 5}}, 6);  // bc, ab and abc = ab + c, which never happens
  std::vector<Symbol> word = word_of({0, 1, 2, 0, 1});
  ASSERT_TRUE(table.linear.merge(word).has_value());
  EXPECT_EQ(ids_of(word), (std::vector<std::int32_t>{0, 3, 4}));
}

// Tables and words in which much depends on what stands far away.

/// a, aa, aaaa and so on: each doubles the one before.
TestTable doubling_table(std::int32_t merges) {
  std::vector<Merge> list;
  for (std::int32_t i = 0; i < merges; ++i) list.push_back({i, i, i + 1});
  return TestTable(list, static_cast<std::size_t>(merges) + 1);
}

/// Over a and b: b, ab, aab, aaab and so on, each longer by an a on its left; then pairs of those.
TestTable growing_table(std::int32_t merges) {
  std::vector<Merge> list = {{0, 1, 2}};
  for (std::int32_t i = 1; i < merges; ++i) list.push_back({0, i + 1, i + 2});
  for (std::int32_t i = 1; i < merges; ++i) list.push_back({i + 1, i + 2, merges + i + 1});
  return TestTable(list, 2 * static_cast<std::size_t>(merges) + 2);
}

/// Over a and b: the words of Fibonacci, each that before with the one before that behind it.
TestTable fibonacci_table(std::int32_t merges) {
  std::vector<Merge> list = {{0, 1, 2}, {2, 0, 3}};
  for (std::int32_t i = 2; i < merges; ++i) list.push_back({i + 1, i, i + 2});
  return TestTable(list, static_cast<std::size_t>(merges) + 2);
}

std::vector<std::vector<std::int32_t>> adversarial_words(std::size_t size) {
  std::vector<std::vector<std::int32_t>> words = {std::vector<std::int32_t>(size, 0), std::vector<std::int32_t>(size),
                                                  std::vector<std::int32_t>(size), std::vector<std::int32_t>(size)};
  std::size_t end_of_run = 0;
  std::size_t run = 0;
  for (std::size_t i = 0; i < size; ++i) {
    words[1][i] = static_cast<std::int32_t>(i % 2);
    if (i == end_of_run) {  // runs of a that become longer, each with a b behind it
      words[2][i] = 1;
      end_of_run = i + 1 + ++run % 20;
    }
  }
  std::vector<std::int32_t> before = {0};  // a Fibonacci word
  std::vector<std::int32_t> fibonacci = {0, 1};
  while (fibonacci.size() < size) {
    std::vector<std::int32_t> next = fibonacci;
    next.insert(next.end(), before.begin(), before.end());
    before = std::exchange(fibonacci, std::move(next));
  }
  words[3].assign(fibonacci.begin(), fibonacci.begin() + static_cast<std::ptrdiff_t>(size));
  return words;
}

TEST(LinearMerging, EqualsTheDefinitionForAdversarialWords) {
  const TestTable doubling = doubling_table(15);
  const TestTable growing = growing_table(20);
  const TestTable fibonacci = fibonacci_table(18);
  for (const std::size_t size : {33, 64, 255, 256, 5000})
    for (const std::vector<std::int32_t>& ids : adversarial_words(size)) {
      expect_exact(growing, word_of(ids), "growing");
      expect_exact(fibonacci, word_of(ids), "Fibonacci");
      if (std::count(ids.begin(), ids.end(), 0) == static_cast<std::ptrdiff_t>(size))
        expect_exact(doubling, word_of(ids), "doubling");
    }
}

TEST(LinearMerging, LooksUpAsManyPairsForEachSymbolHoweverLongTheWord) {
  const TestTable doubling = doubling_table(15);
  const TestTable growing = growing_table(20);
  const TestTable fibonacci = fibonacci_table(18);
  const auto looked_up = [](const TestTable& table, const std::vector<std::int32_t>& ids) {
    std::vector<Symbol> word = word_of(ids);
    return table.linear.merge(word).value();
  };
  const auto few = adversarial_words(20'000);
  const auto many = adversarial_words(200'000);
  for (std::size_t i = 0; i < few.size(); ++i)
    for (const TestTable* table : {&growing, &fibonacci}) {
      EXPECT_LE(looked_up(*table, many[i]), 10.1 * static_cast<double>(looked_up(*table, few[i])) + 1000) << i;
      EXPECT_LE(looked_up(*table, many[i]), 10 * many[i].size()) << i;
    }
  EXPECT_LE(looked_up(doubling, many[0]), 4 * many[0].size());
}

/// The pieces of learned vocabularies, in any order: what one ends with and the next begins with merges, too.
TEST(LinearMerging, EqualsTheHeapForVocabulariesOfAllFormats) {
  for (const char* file : {"default.tokenizer.json", "nfc.tokenizer.json", "digits.tokenizer.json",
                           "byte_level_plain.tokenizer.json", "sentencepiece_plain.model", "sentencepiece_bytes.model",
                           "sentencepiece_across_words.model", "sentencepiece_bpe_unused.model", "youtokentome.model",
                           "fastbpe.codes", "subword_nmt.codes01", "subword_nmt.codes02", "gpt2.merges.txt"}) {
    const auto tokenizer = load_tokenizer(testing::golden_file(file));
    const BpeDefinition& definition = dynamic_cast<const BpeTokenizer&>(*tokenizer).definition();
    const TestTable table(definition.merges, definition.pieces.size());
    ASSERT_TRUE(table.linear.is_proper()) << file;
    std::mt19937 random(1);
    for (const std::size_t size : {33, 100, 300, 1000, 5000})
      expect_exact(table, word_of_pieces(table, random, size), file);
  }
}

/// Whatever words are split into: characters, bytes of those that have no piece, unknown ones, marks at the ends.
/// Dropout that never drops goes by the heap.
TEST(LinearMerging, TextWithoutSpacesIsEncodedAsByTheHeap) {
  const EncodeOptions by_heap{.mode = EncodingMode::kDropout, .dropout = 1e-300};
  const std::string corpus = core::read_file(testing::golden_file("corpus.txt"));
  for (const char* file :
       {"default.tokenizer.json", "nfkc.tokenizer.json", "digits.tokenizer.json", "byte_level_plain.tokenizer.json",
        "byte_level_no_regex.tokenizer.json", "sentencepiece_plain.model", "sentencepiece_bytes.model",
        "sentencepiece_across_words.model", "sentencepiece_bpe_unused.model", "youtokentome.model", "fastbpe.codes",
        "subword_nmt.codes01", "subword_nmt.codes02", "gpt2.merges.txt", "ranks.tiktoken"}) {
    const auto tokenizer = load_tokenizer(testing::golden_file(file));
    std::mt19937 random(7);
    for (int i = 0; i < 30; ++i) {
      std::string text;
      while (text.size() < 400) text += corpus.substr(random() % corpus.size(), 1 + random() % 60);  // cuts characters
      std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
      ASSERT_EQ(tokenizer->encode(text), tokenizer->encode(text, by_heap)) << file << ": " << text;
    }
  }
}

}  // namespace
}  // namespace dragoman::tokenizer
