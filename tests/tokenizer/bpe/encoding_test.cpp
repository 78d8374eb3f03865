#include "tokenizer_test_support.h"

#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using testing::make_plain_bpe;
using testing::pieces_of;

EncodeOptions greedy() {
  return {.mode = EncodingMode::kGreedy};
}
EncodeOptions dropout(double p, std::uint64_t seed = 0, std::uint64_t line = 0) {
  return {.mode = EncodingMode::kDropout, .dropout = p, .seed = seed, .line = line};
}

/// Merge order in its plainest form: look for the lowest rank from the left, apply it once, start again.
std::vector<std::int32_t> naive_exact(const BpeDefinition& definition, const std::string& text) {
  std::vector<std::int32_t> ids;
  for (const char c : text)
    ids.push_back(static_cast<std::int32_t>(
        std::find(definition.pieces.begin(), definition.pieces.end(), std::string(1, c)) - definition.pieces.begin()));
  for (;;) {
    std::size_t best_rank = definition.merges.size();
    std::size_t best_place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      for (std::size_t rank = 0; rank < best_rank; ++rank)
        if (definition.merges[rank].left == ids[i] && definition.merges[rank].right == ids[i + 1]) {
          best_rank = rank;
          best_place = i;
        }
    if (best_rank == definition.merges.size()) return ids;
    ids[best_place] = definition.merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  }
}

/// Merges in an order that a learner need not produce: rules may come before those of their parts.
BpeTokenizer random_bpe(std::mt19937& random, const std::string& characters, std::size_t merges) {
  std::vector<std::string> pieces;
  for (const char c : characters) pieces.emplace_back(1, c);
  std::vector<std::pair<std::string, std::string>> rules;
  while (rules.size() < merges) {
    const std::pair rule(pieces[random() % pieces.size()], pieces[random() % pieces.size()]);
    if (rule.first.size() + rule.second.size() > 12 || std::find(rules.begin(), rules.end(), rule) != rules.end())
      continue;
    rules.push_back(rule);
    pieces.push_back(rule.first + rule.second);
  }
  std::shuffle(rules.begin(), rules.end(), random);
  return make_plain_bpe(characters, rules);
}

TEST(ExactEncoding, EqualsNaiveMergingForAnyOrderOfRules) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::string characters = seed % 3 == 0 ? "ab" : seed % 3 == 1 ? "abc" : "abcdef";
    const BpeTokenizer tokenizer = random_bpe(random, characters, 5 + random() % 30);
    for (int i = 0; i < 60; ++i) {
      const std::string text =
          testing::random_text(random, characters, i < 50 ? 20 : 300);  // short and long words take different code
      ASSERT_EQ(tokenizer.encode(text), naive_exact(tokenizer.definition(), text)) << "seed " << seed << ": " << text;
    }
  }
}

TEST(ExactEncoding, EqualRanksMergeFromTheLeft) {
  const BpeTokenizer tokenizer = make_plain_bpe("a", {{"a", "a"}});
  EXPECT_THAT(pieces_of(tokenizer, "aaaaa"), ElementsAre("aa", "aa", "a"));
}

TEST(ExactEncoding, AMegabyteWithoutASpaceIsNotQuadratic) {
  std::mt19937 random(3);
  const BpeTokenizer tokenizer = random_bpe(random, "abcd", 200);
  std::string text(1 << 20, ' ');
  for (char& c : text) c = "abcd"[random() % 4];
  const auto ids = tokenizer.encode(text);
  EXPECT_EQ(tokenizer.decode(ids), text);
  const auto repeated = tokenizer.encode(std::string(1 << 20, 'a'));
  EXPECT_EQ(tokenizer.decode(repeated), std::string(1 << 20, 'a'));
}

TEST(GreedyEncoding, LongestMatchIsNotMergeOrder) {
  // The trap: a walk through a trie of the pieces is no BPE. By merge order bc comes first, so that ab never forms.
  const BpeTokenizer tokenizer = make_plain_bpe("abcd", {{"b", "c"}, {"bc", "d"}, {"a", "b"}});
  EXPECT_THAT(pieces_of(tokenizer, "abcd"), ElementsAre("a", "bcd"));
  EXPECT_THAT(pieces_of(tokenizer, "abcd", greedy()), ElementsAre("ab", "c", "d"));
}

TEST(GreedyEncoding, TakesTheLongestPieceAtEachPlace) {
  std::mt19937 random(11);
  const BpeTokenizer tokenizer = random_bpe(random, "abc", 40);
  for (int i = 0; i < 500; ++i) {
    const std::string text = testing::random_text(random, "abc", 40);
    std::vector<std::string> expected;
    for (std::size_t at = 0; at < text.size(); at += expected.back().size()) {
      std::string longest;
      for (const std::string& piece : tokenizer.definition().pieces)
        if (piece.size() > longest.size() && text.compare(at, piece.size(), piece) == 0) longest = piece;
      expected.push_back(longest);
    }
    ASSERT_EQ(pieces_of(tokenizer, text, greedy()), expected) << text;
  }
}

TEST(GreedyEncoding, NeverMatchesSpecialTokensOrByteNames) {
  const BpeTokenizer tokenizer = testing::learn_from("s 0x4 1 < > / unk ab ab\n", {.vocab_size = 300});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("</s><0x41><unk>", greedy())), "</s><0x41><unk>");
}

TEST(DropoutEncoding, NoDropoutIsExactAndFullDropoutGivesCharacters) {
  std::mt19937 random(2);
  const BpeTokenizer tokenizer = random_bpe(random, "abc", 30);
  for (int i = 0; i < 100; ++i) {
    const std::string text = testing::random_text(random, "abc", 100);
    EXPECT_EQ(tokenizer.encode(text, dropout(0)), tokenizer.encode(text));
    EXPECT_EQ(tokenizer.encode(text, dropout(1)).size(), text.size());
  }
}

TEST(DropoutEncoding, IsAFunctionOfSeedAndLine) {
  std::mt19937 random(2);
  const BpeTokenizer tokenizer = random_bpe(random, "abc", 30);
  const std::string text = testing::random_text(random, "abc", 1) + std::string(200, 'b') + "acbacbacbacbacbacb";
  const auto first = tokenizer.encode(text, dropout(0.3, 7, 1));
  EXPECT_EQ(tokenizer.encode(text, dropout(0.3, 7, 1)), first);
  EXPECT_NE(tokenizer.encode(text, dropout(0.3, 7, 2)), first);
  EXPECT_NE(tokenizer.encode(text, dropout(0.3, 8, 1)), first);
}

/// Algorithm 1 of Provilkov et al. 2020 as it stands in the paper.
std::vector<std::int32_t> paper_dropout(const BpeDefinition& definition, const std::string& text, double p,
                                        std::mt19937& random) {
  std::vector<std::int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<std::int32_t>(c - 'a'));
  std::uniform_real_distribution<double> uniform;
  for (;;) {
    std::size_t best_rank = definition.merges.size();
    std::size_t best_place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      for (std::size_t rank = 0; rank < definition.merges.size(); ++rank)
        if (definition.merges[rank].left == ids[i] && definition.merges[rank].right == ids[i + 1] &&
            uniform(random) >= p && rank < best_rank) {
          best_rank = rank;
          best_place = i;
        }
    if (best_rank == definition.merges.size()) return ids;
    ids[best_place] = definition.merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  }
}

TEST(DropoutEncoding, HasTheDistributionOfThePaper) {
  const BpeTokenizer tokenizer =
      make_plain_bpe("abc", {{"a", "b"}, {"b", "c"}, {"ab", "c"}, {"c", "a"}, {"abc", "ab"}});
  constexpr int kDraws = 40'000;
  std::map<std::vector<std::int32_t>, int> ours;
  std::map<std::vector<std::int32_t>, int> paper;
  std::mt19937 random(1);
  for (int i = 0; i < kDraws; ++i) {
    ++ours[tokenizer.encode("abcabca", dropout(0.4, 9, static_cast<std::uint64_t>(i)))];
    ++paper[paper_dropout(tokenizer.definition(), "abcabca", 0.4, random)];
  }
  EXPECT_GT(ours.size(), 10U);
  for (const auto& [ids, count] : paper) EXPECT_NEAR(ours[ids], count, 5 * std::sqrt(2.0 * count) + 5);
  for (const auto& [ids, count] : ours) EXPECT_NEAR(paper[ids], count, 5 * std::sqrt(2.0 * count) + 5);
}

TEST(Encoding, UnknownCharactersBecomeBytesOrTheUnknownTokenOrAnError) {
  LearnOptions options;
  options.vocab_size = 270;
  const std::string text = "a a b\n";
  EXPECT_THAT(pieces_of(testing::learn_from(text, options), "aé"), ElementsAre("\u2581a", "<0xC3>", "<0xA9>"));
  options.byte_fallback = false;
  EXPECT_THAT(pieces_of(testing::learn_from(text, options), "aé\xFF"), ElementsAre("\u2581a", "<unk>", "<unk>"));
  options.special_tokens = {};
  const BpeTokenizer strict = testing::learn_from(text, options);
  try {
    strict.encode("aé");
    FAIL() << "a character was lost";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("U+00E9"));
  }
}

TEST(Encoding, SpecialTokensAreTextUnlessAskedFor) {
  LearnOptions options;
  options.vocab_size = 280;
  const BpeTokenizer tokenizer = testing::learn_from("</s> ab ab\n", options);
  for (const std::int32_t id : tokenizer.encode("ab</s>")) EXPECT_FALSE(tokenizer.is_special(id));
  EncodeOptions match;
  match.match_special_tokens = true;
  EXPECT_EQ(tokenizer.encode("ab</s>", match).back(), 2);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab</s>", match)), "ab") << "special tokens vanish in decoding";
}

TEST(Encoding, OutOfRangeIdsAreErrors) {
  const BpeTokenizer tokenizer = make_plain_bpe("ab", {});
  EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{0, 2}), core::Error);
  EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{-1}), core::Error);
  EXPECT_THROW(tokenizer.piece(2), core::Error);
  EXPECT_THROW(tokenizer.is_special(-1), core::Error);
}

TEST(Encoding, ManyThreadsMayShareATokenizer) {
  std::mt19937 random(4);
  const BpeTokenizer tokenizer = random_bpe(random, "abc", 40);
  const std::string text = testing::random_text(random, "abc", 2000);
  const auto expected = tokenizer.encode(text);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) count += tokenizer.encode(text) != expected ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
}

}  // namespace
}  // namespace dragoman::tokenizer
