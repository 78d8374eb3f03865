#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

ReadOptions options_of(const core::Json& row) {
  ReadOptions options;
  options.separator = row["separator"].get<std::string>();
  options.glossaries = row["glossaries"].get<std::vector<std::string>>();
  options.vocabulary_threshold = row["threshold"].get<std::int64_t>();
  if (options.vocabulary_threshold > 0) options.vocabulary = testing::golden_file("subword_nmt.vocabulary");
  return options;
}

std::unique_ptr<Tokenizer> open_codes(const ReadOptions& options, const std::string& name = "codes02") {
  return open_tokenizer_file(testing::golden_file("subword_nmt." + name), options);
}

/// golden/make_glossaries_golden.py wrote what subword-nmt makes of the codes with each set of glossaries.
TEST(Glossaries, SameLinesAsSubwordNmt) {
  const core::Json file = core::load_json(testing::golden_file("glossaries.json").string());
  const auto lines = file["lines"].get<std::vector<std::string>>();
  ASSERT_GE(lines.size(), 250U);
  ASSERT_EQ(file["cases"].size(), 18U);
  for (const core::Json& row : file["cases"]) {
    const auto expected = row["lines"].get<std::vector<std::string>>();
    const auto written = testing::encoded_lines(*open_codes(options_of(row), row["codes"].get<std::string>()), lines);
    ASSERT_EQ(written.size(), expected.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_EQ(written[i], expected[i]) << row["glossaries"] << " " << row["threshold"] << ": '" << lines[i] << "'";
  }
}

TEST(Glossaries, LinesComeBackAsText) {
  const auto tokenizer = open_codes({.glossaries = {"the", "\\d+", "<[^>]*>"}});
  for (const std::string text : {"the river", "1934theother12 x<ph>y", "<ph> <ph>the"})
    EXPECT_EQ(testing::decoded_lines(*tokenizer, testing::encoded_lines(*tokenizer, {text}))[0], text);
}

TEST(Glossaries, AnEncoderGivesTheSameIdsAndPiecesCoverTheText) {
  const auto tokenizer = open_codes({.glossaries = {"the", "\\d+"}});
  const auto encoder = tokenizer->make_encoder();
  std::mt19937 random(6);
  for (std::uint64_t line = 0; line < 1000; ++line) {
    const std::string text = testing::random_text(random, "the12 river", 16);
    std::vector<std::int32_t> ids;
    encoder->encode(text, line, ids);
    EXPECT_EQ(ids, tokenizer->encode(text)) << text;
    std::string covered;
    for (const Piece& piece : tokenizer->encode_pieces(text))
      covered += text.substr(piece.begin, piece.end - piece.begin);
    std::string without_spaces = text;
    std::erase(without_spaces, ' ');
    EXPECT_EQ(covered, without_spaces) << text;
  }
}

TEST(Glossaries, ADictionaryHasTheIdsOfTheLine) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "dict.txt", "1934@@ 5\n1934 4\nri@@ 3\nri 2\nver 2\n");
  core::write_file(folder / "codes", "#version: 0.2\nr i</w>\nv e\nve r</w>\n");
  const auto tokenizer =
      open_tokenizer_file(folder / "codes", {.glossaries = {"\\d+"}, .dictionary = folder / "dict.txt"});
  EXPECT_THAT(testing::pieces_of(*tokenizer, "ri1934ver 1934"), ElementsAre("ri@@", "1934@@", "ver", "1934"));
}

TEST(Glossaries, WhatTheyCannotBeIsRefused) {
  EXPECT_THAT(error_of([&] {
                open_codes({.glossaries = {"a", "(b"}});
              }),
              HasSubstr("the pattern '(b' at offset 0: a group that captures"));
  EXPECT_THAT(error_of([&] { open_codes({.glossaries = {"a)|(?:b"}}); }), HasSubstr("at offset 1"));
  EXPECT_THAT(error_of([&] { open_codes({.glossaries = {"a*"}}); }), HasSubstr("empty text"));
  EXPECT_THAT(
      error_of([&] { open_tokenizer_file(testing::golden_file("default.tokenizer.json"), {.glossaries = {"a"}}); }),
      ::testing::AllOf(HasSubstr("default.tokenizer.json"), HasSubstr("tokenizer-json")));
  EXPECT_THAT(error_of([&] {
                open_tokenizer_file(testing::golden_file("sentencepiece_unigram_plain.model"), {.glossaries = {"a"}});
              }),
              HasSubstr("sentencepiece"));
}

TEST(Glossaries, NoFileIsWrittenWithThem) {
  const testing::TemporaryFolder folder;
  const BpeDefinition definition =
      read_tokenizer_file(testing::golden_file("subword_nmt.codes02"), {.glossaries = {"the"}});
  for (const FileKind kind : {FileKind::kTokenizerJson, FileKind::kSubwordNmt})
    EXPECT_THAT(error_of([&] { write_tokenizer_file(definition, kind, folder / "file"); }), HasSubstr("glossaries"));
  EXPECT_THAT(error_of([&] { BpeTokenizer(definition).to_json(); }), HasSubstr("glossaries"));
}

}  // namespace
}  // namespace dragoman::tokenizer
