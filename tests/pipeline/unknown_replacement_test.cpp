#include "unknown_replacement.h"

#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::pipeline {
namespace {

using tokenizer::FileKind;
using Tokens = std::vector<std::int32_t>;

/// Tokens attend to the source tokens of the same place.
decoding::Hypothesis hypothesis_of(Tokens tokens, std::size_t source_tokens) {
  decoding::Hypothesis hypothesis;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    hypothesis.alignment.emplace_back(source_tokens, 0.0F);
    hypothesis.alignment.back()[std::min(i, source_tokens - 1)] = 1;
  }
  hypothesis.tokens = std::move(tokens);
  return hypothesis;
}

/// Its pieces: <unk> <s> </s> ▁ t h e a th the. Source and target have the same.
class UnknownReplacement : public ::testing::TestWithParam<FileKind> {
 protected:
  UnknownReplacement() {
    const tokenizer::TokenizerExample example = tokenizer::example_of(GetParam());
    core::OptionReader options(example.options, "options");
    tokenizer_ = tokenizer::make_tokenizer(GetParam(), {"example", example.content}, options);
  }
  /// `pieces`, with blanks between them, as the source and as the hypothesis.
  std::string replaced(const std::string& target, const std::string& source,
                       const UnknownDictionary* dictionary = nullptr) const {
    const Tokens source_tokens = ids(source);
    return decode_replacing_unknown(*tokenizer_, hypothesis_of(ids(target), source_tokens.size()),
                                    *tokenizer_->id("<unk>"), *tokenizer_, source_tokens, dictionary);
  }

 private:
  Tokens ids(std::string pieces) const {
    Tokens found;
    for (pieces += ' '; !pieces.empty(); pieces.erase(0, pieces.find(' ') + 1))
      found.push_back(tokenizer_->id(pieces.substr(0, pieces.find(' '))).value());
    return found;
  }
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, UnknownReplacement,
                         ::testing::Values(FileKind::kTokenizerJson, FileKind::kSentencePiece));

TEST_P(UnknownReplacement, KeepsTheBlanksAroundIt) {
  const std::string mark = "\xE2\x96\x81";
  EXPECT_EQ(replaced("a " + mark + " the", "t h e"), "a the") << "nothing to replace";
  EXPECT_EQ(replaced("a <unk> " + mark + " the", "t e"), "a te the");
  EXPECT_EQ(replaced("<unk> " + mark + " the", "t h e"), "the the") << "the whole word, and a blank behind it";
  EXPECT_EQ(replaced("the " + mark + " <unk>", "e " + mark + " h a"), "the ha") << "not two blanks";
  EXPECT_EQ(replaced("a <unk>", "e </s>"), "a") << "an end is no word";
  EXPECT_EQ(replaced("<unk>", "t e"), "te");
}

TEST_P(UnknownReplacement, LooksTheWordUpIfThereIsADictionary) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "dictionary", "te\tT e\n\nha\t\nte\tnot this\nKuh\tcow\r\n");
  const auto dictionary = UnknownDictionary::read(folder / "dictionary");
  EXPECT_EQ(dictionary.size(), 3U);
  EXPECT_EQ(dictionary.look_up("Kuh"), "cow");
  EXPECT_EQ(replaced("a <unk>", "t e", &dictionary), "a T e") << "the whole word, and the first line of it";
  EXPECT_EQ(replaced("a <unk>", "e h a", &dictionary), "a eha") << "a word that is not there stays";
  EXPECT_EQ(replaced("a <unk> e", "\xE2\x96\x81 h a", &dictionary), "ae") << "what becomes nothing";
}

TEST(UnknownDictionary, WhatIsNoEntryIsNamed) {
  const testing::TemporaryFolder folder;
  for (const char* bad : {"a\tb\nword\n", "a\tb\n\tb\n", "a\tb\na\tb\tc\n"}) {
    core::write_file(folder / "words", bad);
    EXPECT_THAT(testing::message_of([&] { UnknownDictionary::read(folder / "words"); }),
                ::testing::HasSubstr("words: line 2 must hold a source word, a tab"));
  }
}

TEST(UnknownReplacementOfCodes, EndsOfWordsStand) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "codes", "#version: 0.2\nt h\nth e</w>\n");
  core::write_file(folder / "vocabulary", "the 3\na 2\nt@@ 2\ne 2\n");
  const auto codes = tokenizer::load_tokenizer(folder / "codes");
  const Tokens source = codes->encode("a the");
  const auto unknown = codes->id("<unk>");
  ASSERT_TRUE(unknown.has_value());
  const Tokens the = codes->encode("the");
  ASSERT_EQ(the.size(), 1U);
  EXPECT_EQ(decode_replacing_unknown(*codes, hypothesis_of({the[0], *unknown, the[0]}, source.size()), *unknown, *codes,
                                     source),
            "the the the");
}

}  // namespace
}  // namespace dragoman::pipeline
