#include "learning/seed_pieces.h"

#include "error_message.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <stop_token>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using Text = std::vector<UnigramSymbol>;

UnigramWords lay_out(const std::map<Text, std::uint64_t>& words) {
  UnigramWords out;
  out.begins.push_back(0);
  for (const auto& [word, count] : words) {
    out.symbols.insert(out.symbols.end(), word.begin(), word.end());
    out.symbols.push_back(0);
    out.begins.push_back(static_cast<std::uint32_t>(out.symbols.size()));
    out.counts.push_back(count);
  }
  return out;
}

/// By looking at every substring: those that occur twice or more, and not always in front of the same symbol unless
/// they are as long as can be. The end of a word is another one each time.
std::map<Text, std::uint64_t> frequent_substrings_by_definition(const std::map<Text, std::uint64_t>& words,
                                                                std::size_t max_length) {
  std::map<Text, std::uint64_t> counts;
  std::map<Text, std::map<UnigramSymbol, std::uint64_t>> behind;
  for (const auto& [word, count] : words)
    for (std::size_t begin = 0; begin < word.size(); ++begin)
      for (std::size_t end = begin + 2; end <= word.size() && end - begin <= max_length; ++end) {
        const Text part(word.begin() + static_cast<std::ptrdiff_t>(begin),
                        word.begin() + static_cast<std::ptrdiff_t>(end));
        counts[part] += count;
        behind[part][end < word.size() ? word[end] : 0] += count;
      }
  std::erase_if(counts, [&](const auto& entry) {
    const auto& next = behind[entry.first];
    const bool goes_on_alike = next.size() == 1 && !next.contains(0) && entry.first.size() < max_length;
    return entry.second < 2 || goes_on_alike;
  });
  return counts;
}

TEST(SeedPieces, AreTheSubstringsThatBranchOrEnd) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t max_length = 2 + random() % 6;
    std::map<Text, std::uint64_t> words;
    for (std::size_t i = random() % 12; i < 12; ++i) {
      Text word(1 + random() % 12);
      for (UnigramSymbol& symbol : word) symbol = 1 + random() % 3;
      words[word] += 1 + random() % 3;
    }
    const UnigramWords laid_out = lay_out(words);
    for (const int threads : {1, 3}) {
      ThreadArena arena(threads);
      std::map<Text, std::uint64_t> found;
      for (const Substring& s : frequent_substrings(
               laid_out, max_length, [](auto) { return true; }, arena)) {
        const auto symbols = std::span(laid_out.symbols).subspan(s.begin, s.length);
        EXPECT_TRUE(found.emplace(Text(symbols.begin(), symbols.end()), s.count).second) << "twice";
      }
      EXPECT_EQ(found, frequent_substrings_by_definition(words, max_length));
    }
  }
}

/// A signal that comes while one first symbol's substrings are found ends it before the next one.
TEST(SeedPieces, AStopEndsTheSearch) {
  std::map<Text, std::uint64_t> all;
  for (UnigramSymbol symbol = 1; symbol <= 50; ++symbol) all[{symbol, symbol, symbol}] = 3;
  const UnigramWords words = lay_out(all);
  ThreadArena arena(1);
  std::stop_source stop;
  std::set<UnigramSymbol> asked;
  const auto stop_at_once = [&](std::span<const UnigramSymbol> symbols) {
    asked.insert(symbols.front());
    stop.request_stop();
    return true;
  };
  testing::message_of([&] { frequent_substrings(words, 16, stop_at_once, arena, stop.get_token()); },
                      core::ErrorCode::kInterrupted);
  EXPECT_EQ(asked.size(), 1U);
}

TEST(SeedPieces, EndWhereNoPieceCanGoOn) {
  // 1 2 9 always goes on with 9, which no piece holds beside others.
  const UnigramWords words = lay_out({{{1, 2, 9, 9}, 3}, {{1, 3}, 2}});
  ThreadArena arena(1);
  const auto no_nine = [](std::span<const UnigramSymbol> symbols) { return std::ranges::count(symbols, 9U) == 0; };
  std::map<Text, std::uint64_t> found;
  for (const Substring& s : frequent_substrings(words, 16, no_nine, arena)) {
    const auto symbols = std::span(words.symbols).subspan(s.begin, s.length);
    found.emplace(Text(symbols.begin(), symbols.end()), s.count);
  }
  EXPECT_EQ(found, (std::map<Text, std::uint64_t>{{{1, 2}, 3}, {{1, 3}, 2}}));
}

TEST(SeedPieces, AreThoseOfGreatestWeightAndAllSymbols) {
  // 1 2 3 occurs 4 times (weight 12), 4 5 three times (6), 6 7 three times (6), 8 9 twice (4).
  const UnigramWords words = lay_out({{{1, 2, 3}, 4}, {{4, 5}, 3}, {{6, 7}, 3}, {{8, 9}, 2}});
  ThreadArena arena(1);
  const auto substrings = frequent_substrings(
      words, 16, [](auto) { return true; }, arena);
  const std::vector<std::uint64_t> counts = {0, 4, 4, 4, 3, 3, 3, 3, 2, 2};
  const auto texts = [&](std::size_t most) {
    std::set<Text> longer;
    double total = 0;
    for (const LearnedPiece& piece : seed_pieces(words, substrings, most, counts)) {
      total += std::exp(piece.score);
      if (piece.symbols.size() > 1) longer.insert(piece.symbols);
    }
    EXPECT_NEAR(total, 1, 1e-12);
    return longer;
  };
  // 2 3 ends words, too, as often as 1 2 3.
  EXPECT_EQ(texts(1), (std::set<Text>{{1, 2, 3}}));
  EXPECT_EQ(texts(3), (std::set<Text>{{1, 2, 3}, {2, 3}, {4, 5}}));
  EXPECT_EQ(texts(4), (std::set<Text>{{1, 2, 3}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(texts(99).size(), 5U);
}

}  // namespace
}  // namespace dragoman::tokenizer
