#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// golden/make_subword_nmt_golden.py wrote what subword-nmt makes of the codes beside it.
core::Json subword_nmt_golden() {
  return core::load_json(testing::golden_file("subword_nmt.json").string());
}

std::filesystem::path codes_file(const std::string& name) {
  return testing::golden_file("subword_nmt." + name);
}

BpeTokenizer tokenizer_of(const core::Json& row) {
  ReadOptions options;
  options.separator = row["separator"].get<std::string>();
  options.vocabulary_threshold = row["threshold"].get<std::int64_t>();
  if (options.vocabulary_threshold > 0) options.vocabulary = codes_file("vocabulary");
  return BpeTokenizer(read_tokenizer_file(codes_file(row["codes"].get<std::string>()), options));
}

BpeTokenizer from_codes(const std::string& text) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "codes", text);
  return BpeTokenizer(read_tokenizer_file(folder / "codes"));
}

std::string codes_error(const std::string& text) {
  return testing::error_of([&] { from_codes(text); });
}

TEST(SubwordNmt, SameLinesAsSubwordNmt) {
  const core::Json file = subword_nmt_golden();
  const auto lines = file["lines"].get<std::vector<std::string>>();
  ASSERT_GE(lines.size(), 300U);
  ASSERT_EQ(file["cases"].size(), 7U);
  for (const core::Json& row : file["cases"]) {
    const auto expected = row["lines"].get<std::vector<std::string>>();
    const auto written = testing::encoded_lines(tokenizer_of(row), lines);
    ASSERT_EQ(written.size(), expected.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_EQ(written[i], expected[i]) << row["codes"] << " " << row["threshold"] << ": '" << lines[i] << "'";
  }
}

/// As `subword-nmt apply-bpe` 0.3.8 with these codes writes the lines.
TEST(SubwordNmt, TextWithoutAPieceHasTheMarkInsideAWord) {
  const auto join = [](const BpeTokenizer& tokenizer, const std::string& text) {
    std::string joined;
    for (const std::string& piece : tokenizer.encode_as_text(text)) joined += joined.empty() ? piece : " " + piece;
    return joined;
  };
  const BpeTokenizer second = from_codes("#version: 0.2\nl o\nlo w\ne r</w>\n");
  EXPECT_EQ(join(second, "lowXer low Xlow lowX"), "low@@ X@@ er lo@@ w X@@ lo@@ w low@@ X");
  EXPECT_EQ(join(second, "\u00E9 low\u00E9\u00E9"), "\u00E9 low@@ \u00E9@@ \u00E9");
  const BpeTokenizer first = from_codes("l o\nlo w\ne r\ner </w>\n");
  EXPECT_EQ(join(first, "lowXer low Xlow lowX"), "low@@ X@@ er low X@@ low low@@ X");
  EXPECT_EQ(join(first, "X"), "X");
}

TEST(SubwordNmt, FastBpeCodesGiveTheSameAsTheSameMergesOfVersion2) {
  const auto lines = subword_nmt_golden()["lines"].get<std::vector<std::string>>();
  const BpeTokenizer fast(read_tokenizer_file(testing::golden_file("fastbpe.codes")));
  const BpeTokenizer codes(read_tokenizer_file(codes_file("codes02")));
  EXPECT_EQ(fast.definition().pieces, codes.definition().pieces);
  EXPECT_EQ(testing::encoded_lines(fast, lines), testing::encoded_lines(codes, lines));
}

TEST(SubwordNmt, ASeparatorMustNotBeTakenForText) {
  const auto error_of_separator = [](const std::string& separator) {
    return testing::error_of([&] { read_tokenizer_file(codes_file("codes02"), {.separator = separator}); });
  };
  for (const char* separator :
       {"", " ", "@ ", "@\n", "\t", "@\u3000", "x", "BPE", "1", "\u00E9", "e\u0301", "\u6F22", "\xFF", "@\xC3"})
    EXPECT_THAT(error_of_separator(separator), AllOf(HasSubstr("the separator '"), HasSubstr("'@@'"))) << separator;
  for (const char* separator : {"@@", "\uFFED", "@", "</x>", "x@"})
    EXPECT_EQ(error_of_separator(separator), "no error") << separator;
}

TEST(SubwordNmt, LinesComeBackAsText) {
  for (const char* name : {"codes01", "codes02"}) {
    const BpeTokenizer tokenizer(read_tokenizer_file(codes_file(name)));
    for (const std::string text : {"the river", "The interpreter \xE6\xBC\xA2\xE5\xAD\x97 sat", "a b  c", " the "}) {
      EXPECT_EQ(testing::decoded_lines(tokenizer, testing::encoded_lines(tokenizer, {text}))[0],
                text == "a b  c" ? "a b c" : text);
    }
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("the river people")), "the river people");
  }
}

TEST(SubwordNmt, IdsOfBothVersionsNameTheSamePieces) {
  const BpeTokenizer tokenizer = from_codes("#version: 0.1\na b\nb </w>\n");
  EXPECT_THAT(testing::pieces_of(tokenizer, "ab aab c"), ElementsAre("ab", "a@@", "ab", "<unk>"));
  EXPECT_EQ(tokenizer.id("ab"), tokenizer.encode("ab")[0]);
  EXPECT_EQ(tokenizer.id("nothing"), std::nullopt);
}

TEST(SubwordNmt, AllOccurrencesOfAMergeComeBeforeTheNext) {
  // One after the other, (aa, a) would win over the second (a, a).
  const BpeTokenizer tokenizer = from_codes("#version: 0.2\naa a\na a\n");
  EXPECT_THAT(testing::pieces_of(tokenizer, "aaaaab"), ElementsAre("aa@@", "aaa@@", "<unk>"));
  EXPECT_THAT(testing::error_of([&] { tokenizer.to_json(); }), HasSubstr("order"));
}

TEST(SubwordNmt, TokenizerJsonKeepsTheLines) {
  const auto lines = subword_nmt_golden()["lines"].get<std::vector<std::string>>();
  const BpeTokenizer codes(read_tokenizer_file(codes_file("codes02")));
  const BpeTokenizer json = BpeTokenizer::parse(codes.to_json(), "json");
  EXPECT_EQ(json.to_json(), codes.to_json());
  EXPECT_EQ(testing::encoded_lines(json, lines), testing::encoded_lines(codes, lines));
}

TEST(SubwordNmt, WritesTheCodesThatItRead) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"codes01", "codes02"}) {
    const BpeDefinition definition = read_tokenizer_file(codes_file(name));
    write_tokenizer_file(definition, FileKind::kSubwordNmt, folder / name);
    EXPECT_EQ(core::read_file(folder / name), core::read_file(codes_file(name)));
  }
}

TEST(SubwordNmt, RefusesWhatItCannotFollow) {
  EXPECT_THAT(codes_error("#version: 0.3\na b\n"), HasSubstr("version '0.3'"));
  EXPECT_THAT(codes_error("#version: 0.2 byte\na b\n"), HasSubstr("version 'byte'"));
  EXPECT_THAT(codes_error("#version: 0.2\na b\nc\n"), AllOf(HasSubstr("codes: line 3"), HasSubstr("two pieces")));
  EXPECT_THAT(codes_error("#version: 0.2\na  b\n"), HasSubstr("line 2"));
  EXPECT_THAT(codes_error("#version: 0.2\na b\n\na b\n"), HasSubstr("line 3"));
  EXPECT_THAT(codes_error("#version: 0.2\na </w>\n"), HasSubstr("version 0.1"));
  EXPECT_THAT(codes_error("#version: 0.2\na</w> b\n"), HasSubstr("inside a word"));
  EXPECT_THAT(codes_error("#version: 0.2\n< /w>\n"), HasSubstr("inside a word"));
  EXPECT_THAT(codes_error("#version: 0.2\na \xFF\n"), HasSubstr("UTF-8"));
  EXPECT_THAT(codes_error("a b 3\na b x\n"), HasSubstr("known kind"));
  EXPECT_THAT(testing::error_of([] {
                ReadOptions options;
                options.vocabulary = codes_file("vocabulary");
                read_tokenizer_file(codes_file("codes01"), options);
              }),
              HasSubstr("empty pieces"));
  EXPECT_THAT(testing::error_of([] {
                ReadOptions options;
                options.vocabulary = codes_file("codes02");
                read_tokenizer_file(codes_file("codes02"), options);
              }),
              HasSubstr("line 1"));
  const BpeTokenizer codes = from_codes("#version: 0.2\na b</w>\n");
  EXPECT_THAT(testing::error_of([&] { codes.encode("ab", {.mode = EncodingMode::kGreedy}); }), HasSubstr("greedy"));
}

}  // namespace
}  // namespace dragoman::tokenizer
