#include "pre_tokenizing/gpt2_word_reader.h"

#include "pre_tokenizing/named_patterns.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

std::vector<std::string> read_words(std::string_view text, std::size_t readable) {
  std::vector<std::string> words;
  for (Gpt2WordReader reader(text, readable); reader.more();) words.emplace_back(reader.next());
  return words;
}

std::vector<std::string> matches(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = pattern_word_end(WordPattern::kGpt2, text, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

/// Characters of each class and length, whitespace of several bytes, contractions, and bytes that are not UTF-8.
std::string random_text(std::mt19937& random, std::size_t parts) {
  static const std::string kParts[] = {
      "a",        "Z",          "the",    " ",          " ",      "  ",     "\t",
      "\n",       "7",          "\u0663", "\u2167",     "\u00A0", "\u3000", "\u0085",
      "!",        "...",        "'",      "''",         "'s",     "'ll",    "'re",
      "'S",       "'v",         "'d",     "\u00E9",     "\u0416", "\u4E2D", "ZZ",
      "@[",       "`{",         "/:",     "\x7F",       "\x01",   "\xFF",   "\xC3",
      "\xE2\x96", "\U0001F600", "\u0301", "\U00010400", "\u0E01", "zz",     "'t",
      "\v",       "--",         "\f",     "'m",         "\r",     "'ve",    "\xE1\x9A\x80",
      "\u2003"};
  std::string text;
  for (std::size_t i = 0; i < parts; ++i) text += kParts[random() % std::size(kParts)];
  return text;
}

/// The texts are of all sizes around the ends of blocks of 64 bytes, and other text may follow them.
TEST(Gpt2WordReader, SplitsTextLikeThePattern) {
  std::mt19937 random(1);
  for (int round = 0; round < 40000; ++round) {
    const std::string text = random_text(random, random() % 120);
    const std::string_view first(text.data(), random() % (text.size() + 1));
    ASSERT_EQ(read_words(first, first.size()), matches(first)) << "round " << round;
    ASSERT_EQ(read_words(first, text.size()), matches(first)) << "round " << round << " with text after it";
  }
}

/// Each pair of neighbours at each place of a block.
TEST(Gpt2WordReader, SplitsAtTheEndsOfBlocksLikeThePattern) {
  std::mt19937 random(2);
  for (std::size_t before = 50; before < 70; ++before)
    for (int round = 0; round < 2000; ++round) {
      const std::string text = std::string(before, round % 2 == 0 ? 'x' : ' ') + random_text(random, 8);
      ASSERT_EQ(read_words(text, text.size()), matches(text)) << before << " before, round " << round;
    }
}

}  // namespace
}  // namespace dragoman::tokenizer
