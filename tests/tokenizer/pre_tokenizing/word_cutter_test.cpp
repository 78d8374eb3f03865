#include "pre_tokenizing/word_cutter.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;

/// The words of a text, an empty one where two things that part words stand side by side.
std::vector<std::string> words_of(const TextDefinition& definition, std::string_view text) {
  const WordCutter cutter(definition);
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = cutter.end(text, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = cutter.next(text, end);
  }
  return words;
}

CharacterText cut_by(PreTokenizerDefinition pre_tokenizer) {
  return {.pre_tokenizer = std::move(pre_tokenizer)};
}

TEST(WordCutter, AMarkBeginsAWord) {
  for (const TextDefinition& text :
       {TextDefinition(cut_by(SplitBefore{.mark = kWordMark})), TextDefinition(cut_by(Metaspace())),
        TextDefinition(SentencePieceText{.split_at_marks = true})})
    EXPECT_THAT(words_of(text, "a b\u2581\u2581c"), ElementsAre("a b", "\u2581", "\u2581c"));
}

TEST(WordCutter, WhatStandsBetweenWordsVanishes) {
  EXPECT_THAT(words_of(cut_by(SplitBetween{.separator = "--"}), "a--b- --"), ElementsAre("a", "b- "));
  EXPECT_THAT(words_of(SuffixedText(), "a\tb  c"), ElementsAre("a\tb", "", "c"));
  for (const TextDefinition& text :
       {TextDefinition(cut_by(WhitespaceSplit())), TextDefinition(SuffixedText{.between_white_space = true})})
    EXPECT_THAT(words_of(text, "a\tb\u3000c "), ElementsAre("a", "b", "c"));
}

TEST(WordCutter, BytesAreCutByTheirPattern) {
  EXPECT_THAT(words_of(ByteLevelText{.pattern = WordPattern::kGpt2}, "it's 1234"), ElementsAre("it", "'s", " 1234"));
  EXPECT_THAT(words_of(ByteLevelText{.pattern = WordPattern::kCl100k}, "1234"), ElementsAre("123", "4"));
}

TEST(WordCutter, WithoutAMarkOrPatternTheTextIsOneWord) {
  for (const TextDefinition& text : {TextDefinition(), TextDefinition(cut_by(Metaspace{.split = false})),
                                     TextDefinition(ByteLevelText()), TextDefinition(SentencePieceText())}) {
    EXPECT_THAT(words_of(text, "a b\u2581c"), ElementsAre("a b\u2581c"));
    EXPECT_EQ(WordCutter(text), WordCutter(TextDefinition()));
  }
  EXPECT_FALSE(WordCutter(SuffixedText()) == WordCutter(TextDefinition()));
}

}  // namespace
}  // namespace dragoman::tokenizer
