#include "dragoman/corpus/word_alignment.h"

#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>

namespace dragoman::corpus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Symmetrization kAllWays[] = {Symmetrization::kIntersection, Symmetrization::kUnion, Symmetrization::kGrowDiag,
                                       Symmetrization::kGrowDiagFinal, Symmetrization::kGrowDiagFinalAnd};

Links links_of(std::string_view line) {
  return parse_pharaoh(line, 100, 100);
}

std::string joined(std::string_view forward, std::string_view backward, Symmetrization how) {
  return to_pharaoh(symmetrize(links_of(forward), links_of(backward), how));
}

TEST(Symmetrization, GivesWhatFastAlignGives) {
  core::LineReader lines(testing::golden_file("symmetrized.tsv"));
  std::string line;
  while (lines.next(line)) {
    std::vector<std::string> columns;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t tab = std::min(line.find('\t', begin), line.size());
      columns.push_back(line.substr(begin, tab - begin));
      begin = tab + 1;
    }
    ASSERT_EQ(columns.size(), 7U) << line;
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(joined(columns[0], columns[1], kAllWays[i]), columns[2 + i]) << "line " << lines.line_number();
  }
  EXPECT_EQ(lines.line_number(), 100U);
}

/// By hand, through the pseudo-code: 0-0 is in both. Its neighbours 0-1 (target 1 is free) and 1-0 (source 1 is free)
/// come in; 1-1 has both sides aligned by then. 3-3 is nobody's neighbour; 4-3 finds target 3 taken if 3-3 came first.
TEST(Symmetrization, GrowsAndFinishesAsThePseudoCodeDoes) {
  const std::string forward = "0-0 0-1 1-1 3-3";
  const std::string backward = "0-0 1-0 4-3";
  EXPECT_EQ(joined(forward, backward, Symmetrization::kIntersection), "0-0");
  EXPECT_EQ(joined(forward, backward, Symmetrization::kGrowDiag), "0-0 0-1 1-0");
  EXPECT_EQ(joined(forward, backward, Symmetrization::kGrowDiagFinalAnd), "0-0 0-1 1-0 3-3");
  EXPECT_EQ(joined(forward, backward, Symmetrization::kGrowDiagFinal), "0-0 0-1 1-0 3-3 4-3");
  EXPECT_EQ(joined(forward, backward, Symmetrization::kUnion), "0-0 0-1 1-0 1-1 3-3 4-3");
}

TEST(Symmetrization, OfNothingIsNothingAndOfEqualsTheSame) {
  for (const Symmetrization how : kAllWays) {
    EXPECT_EQ(joined("", "", how), "");
    EXPECT_EQ(joined("0-0 2-1 2-2", "0-0 2-1 2-2", how), "0-0 2-1 2-2");
  }
}

TEST(PharaohLine, IsReadInAnyOrderAndWrittenSorted) {
  EXPECT_EQ(to_pharaoh(links_of(" 2-1 0-0\t2-1 10-3")), "0-0 2-1 10-3");
  EXPECT_EQ(to_pharaoh({}), "");
}

TEST(PharaohLine, WhatIsNoLinkIsNamed) {
  for (const char* bad : {"0", "0-", "-0", "0--1", "0-1-2", "a-b", "0:1", "99999999999-0", "-1-0", "0-0x"})
    EXPECT_THAT(testing::message_of([&] { links_of(bad); }), HasSubstr(std::string("'") + bad)) << bad;
  EXPECT_THAT(testing::message_of([] { parse_pharaoh("0-0 1-2", 2, 2); }),
              HasSubstr("1-2 is outside of 2 source and 2 target units"));
}

TEST(PharaohLine, MessageAboutALinkIsShort) {
  const std::string link = std::string(100000, '0') + "3-" + std::string(100000, '0');
  EXPECT_THAT(testing::message_of([&] { parse_pharaoh(link, 2, 2); }),
              ::testing::StartsWith("the link 3-0 is outside of 2 source and 2 target units"));
}

TEST(WordsOf, AreWhatStandsBetweenBlanks) {
  const std::string text = "  a\tbc  \xC2\xA0 d ";
  std::vector<std::string> words;
  for (const core::TextRange& word : words_of(text)) words.push_back(text.substr(word.begin, word.end - word.begin));
  EXPECT_THAT(words, ElementsAre("a", "bc", "\xC2\xA0", "d"));
  EXPECT_TRUE(words_of(" \t ").empty());
}

}  // namespace
}  // namespace dragoman::corpus
