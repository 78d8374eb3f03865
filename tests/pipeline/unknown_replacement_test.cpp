#include "translation/unknown_replacement.h"

#include "error_message.h"
#include "test_data.h"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
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

SourceText source_text_of(const tokenizer::Tokenizer& tokenizer, const std::string& text) {
  SourceText source{.text = text};
  for (const tokenizer::Piece& piece : tokenizer.encode_pieces(text)) source.tokens.push_back({piece.begin, piece.end});
  return source;
}

/// Its pieces: <unk> <s> </s> ▁ t h e a th the. Source and target have the same.
class UnknownReplacement : public ::testing::TestWithParam<FileKind> {
 protected:
  UnknownReplacement() {
    const tokenizer::TokenizerExample example = tokenizer::example_of(GetParam());
    core::OptionReader options(example.options.get(), "options");
    tokenizer_ = tokenizer::make_tokenizer(GetParam(), {"example", example.content}, options);
  }
  /// `pieces`, with blanks between them, as the source and as the hypothesis.
  std::string replaced(const std::string& target, const std::string& source,
                       const UnknownDictionary* dictionary = nullptr) const {
    SourceText source_text;
    const auto decoder = tokenizer_->make_decoder();
    for (const std::int32_t token : ids(source)) {
      const std::size_t begin = source_text.text.size();
      decoder->decode(token, source_text.text);
      source_text.tokens.push_back({begin, source_text.text.size()});
    }
    decoder->finish(source_text.text);
    return decode_replacing_unknown(*tokenizer_, hypothesis_of(ids(target), source_text.tokens.size()),
                                    *tokenizer_->id("<unk>"), *tokenizer_, source_text, dictionary);
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
                         ::testing::Values(FileKind::kTokenizerJson, FileKind::kSentencePiece), [](const auto& kind) {
                           return kind.param == FileKind::kSentencePiece ? "sentencepiece" : "tokenizer_json";
                         });

TEST_P(UnknownReplacement, KeepsTheBlanksAroundIt) {
  const std::string mark = "\xE2\x96\x81";
  EXPECT_EQ(replaced("a " + mark + " the", "t h e"), "a the") << "nothing to replace";
  EXPECT_EQ(replaced("a <unk> " + mark + " the", "t e"), "a te the");
  EXPECT_EQ(replaced("<unk> " + mark + " the", "t h e"), "the the") << "the whole word, and a blank behind it";
  EXPECT_EQ(replaced("the " + mark + " <unk>", "e " + mark + " h a"), "the ha") << "not two blanks";
  EXPECT_EQ(replaced("a <unk>", "e </s>"), "a e") << "an end is no word, so it is the next best";
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
  const SourceText source = source_text_of(*codes, "a the");
  const auto unknown = codes->id("<unk>");
  ASSERT_TRUE(unknown.has_value());
  const Tokens the = codes->encode("the");
  ASSERT_EQ(the.size(), 1U);
  EXPECT_EQ(decode_replacing_unknown(*codes, hypothesis_of({the[0], *unknown, the[0]}, source.tokens.size()), *unknown,
                                     *codes, source),
            "the the the");
}

/// What the tokenizer cannot express, or writes in another way, is at hand as it was written.
class UnknownReplacementOfLearnt : public ::testing::Test {
 protected:
  std::unique_ptr<tokenizer::Tokenizer> learn(const std::function<void(tokenizer::LearnOptions&)>& set) const {
    core::write_file(folder_ / "text", "pe gi pe gi page\n");
    tokenizer::LearnOptions options;
    options.vocab_size = 12;
    options.byte_fallback = false;
    options.threads = 1;
    set(options);
    const std::vector<std::filesystem::path> texts = {folder_ / "text"};
    return std::make_unique<tokenizer::BpeTokenizer>(tokenizer::learn_bpe(texts, options));
  }
  /// Each token of the source becomes an unknown one of the target.
  std::vector<std::string> words(const tokenizer::Tokenizer& tokenizer, const std::string& text,
                                 const UnknownDictionary* dictionary = nullptr) const {
    const SourceText source = source_text_of(tokenizer, text);
    std::vector<std::string> found;
    for (std::size_t i = 0; i < source.tokens.size(); ++i) {
      decoding::Hypothesis hypothesis;
      hypothesis.tokens = {*tokenizer.id("<unk>")};
      hypothesis.alignment.emplace_back(source.tokens.size(), 0.0F);
      hypothesis.alignment.back()[i] = 1;
      found.push_back(
          decode_replacing_unknown(tokenizer, hypothesis, *tokenizer.id("<unk>"), tokenizer, source, dictionary));
    }
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(UnknownReplacementOfLearnt, WordsWithoutPiecesStay) {
  const auto tokenizer = learn([](tokenizer::LearnOptions&) {});
  using ::testing::Contains;
  EXPECT_THAT(words(*tokenizer, "pe gi \u4F45 pe"), ::testing::ElementsAre("pe", "gi", "\u4F45", "pe"));
  EXPECT_THAT(words(*tokenizer, "pe Hund-gi"), Contains("Hund"));
  EXPECT_THAT(words(*tokenizer, "pe\u3000\U0001F600 gi"), Contains("\U0001F600"));
  const SourceText source{.text = "gi", .tags = 1, .tokens = {{0, 2}}};
  decoding::Hypothesis hypothesis;
  hypothesis.tokens = {*tokenizer->id("<unk>")};
  hypothesis.alignment = {{1, 0, 0}};
  EXPECT_EQ(decode_replacing_unknown(*tokenizer, hypothesis, *tokenizer->id("<unk>"), *tokenizer, source), "gi")
      << "a tag is no word, so it is the next best";
  hypothesis.alignment = {{0, 1, 0}};
  EXPECT_EQ(decode_replacing_unknown(*tokenizer, hypothesis, *tokenizer->id("<unk>"), *tokenizer, source), "gi");
  EXPECT_THAT(words(*tokenizer, "gi \u0416\u0443\u043A"), Contains("\u0416\u0443\u043A"));
}

TEST_F(UnknownReplacementOfLearnt, WordsKeepTheirCase) {
  const auto tokenizer = learn([](tokenizer::LearnOptions& options) { options.lowercase = true; });
  EXPECT_THAT(words(*tokenizer, "Pe GI Hund"), ::testing::ElementsAre("Pe", "GI", "Hund"));
  core::write_file(folder_ / "dictionary", "pe\tpay\nGI\tguy\n");
  const auto dictionary = UnknownDictionary::read(folder_ / "dictionary");
  EXPECT_THAT(words(*tokenizer, "Pe GI gi", &dictionary), ::testing::ElementsAre("pay", "guy", "gi"))
      << "as it is written, or as the tokenizer writes it";
}

TEST_F(UnknownReplacementOfLearnt, WordsKeepTheirCharacters) {
  const auto tokenizer =
      learn([](tokenizer::LearnOptions& options) { options.normalization = tokenizer::Normalization::kNfkc; });
  EXPECT_THAT(words(*tokenizer, "pe \uFB01x \u2460"), ::testing::ElementsAre("pe", "\uFB01x", "\u2460"));
}

}  // namespace
}  // namespace dragoman::pipeline
