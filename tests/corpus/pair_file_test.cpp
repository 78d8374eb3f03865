#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/corpus/pair_file.h>

namespace dragoman::corpus {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string, std::string>>;

class PairReaderOf : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) {
    core::write_file(folder_ / name, content);
    return (folder_ / name).string();
  }
  static Pairs read(const PairFile& file) {
    PairReader reader(file);
    Pairs pairs;
    for (ParsedPair pair; reader.next(pair);) pairs.emplace_back(pair.source, pair.target);
    return pairs;
  }
  static std::string error_of(const PairFile& file) {
    try {
      read(file);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  TemporaryFolder folder_;
};

TEST_F(PairReaderOf, ReadsTheThreeForms) {
  const Pairs expected{{"ein Haus", "a house"}, {"", "x"}};
  EXPECT_EQ(read({.source = write("s", "ein Haus\r\n\n"), .target = write("t.gz", "a house\nx\n")}), expected);
  EXPECT_EQ(read({.format = PairFormat::kTsv,
                  .source = write("p.tsv.zst", "a house\t1\tein Haus\r\nx\t2\t\n"),
                  .source_column = 3,
                  .target_column = 1}),
            expected);
  EXPECT_EQ(read({.format = PairFormat::kJsonl,
                  .source = write("p.jsonl",
                                  "{\"t\":{\"de\":\"ein Haus\",\"en\":\"a house\"}}\n"
                                  "{\"t\":{\"de\":\"\",\"en\":\"x\"}}\n"),
                  .source_key = "t.de",
                  .target_key = "t.en"}),
            expected);
}

TEST_F(PairReaderOf, LineFeedsInJsonBecomeSpaces) {
  EXPECT_EQ(read({.format = PairFormat::kJsonl, .source = write("p", "{\"source\":\"a\\nb\",\"target\":\"c\"}\n")}),
            (Pairs{{"a b", "c"}}));
}

TEST_F(PairReaderOf, AWrongNumberOfColumnsNamesFileAndLine) {
  const auto tsv = [&](std::string_view text) {
    return error_of({.format = PairFormat::kTsv, .source = write("p.tsv", text)});
  };
  EXPECT_THAT(tsv("a\tb\nc\n"), AllOf(HasSubstr("p.tsv: line 2"), HasSubstr("1 columns")));
  EXPECT_THAT(tsv("a\tb\nc\td\te\n"), AllOf(HasSubstr("p.tsv: line 2: 3 columns"), HasSubstr("first line has 2")));
}

TEST_F(PairReaderOf, BadJsonNamesFileLineAndReason) {
  const auto json = [&](std::string_view text) {
    return error_of({.format = PairFormat::kJsonl, .source = write("p.jsonl", text)});
  };
  const std::string good = "{\"source\":\"a\",\"target\":\"b\"}\n";
  EXPECT_THAT(json(good + "{\"source\":\n"), AllOf(HasSubstr("p.jsonl: line 2: not valid JSON"), HasSubstr("byte")));
  EXPECT_THAT(json(R"({"source":"a","target":"x","target":"y"})"
                   "\n"),
              HasSubstr("line 1: the key 'target' is in this object twice at byte 28"));
  EXPECT_THAT(json("[1]\n"), HasSubstr("line 1: not a JSON object"));
  EXPECT_THAT(json("{\"source\":\"a\",\"target\":5}\n"), HasSubstr("no text under the key"));
}

TEST_F(PairReaderOf, FilesOfDifferentLengthAreNamedWithBothCounts) {
  EXPECT_THAT(error_of({.source = write("s", "a\nb\nc\n"), .target = write("t", "x\n")}),
              AllOf(HasSubstr("s has 3 lines"), HasSubstr("t has 1;")));
}

TEST_F(PairReaderOf, ChunksOfAnySizeHoldAllLinesOnce) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i) + "\tx\n";
  const PairFile file{.format = PairFormat::kTsv, .source = write("p.tsv", text)};
  for (const std::size_t bytes : {1, 50, 100000}) {
    PairReader reader(file);
    std::uint64_t line = 1;
    while (const auto raw = reader.read(bytes)) {
      EXPECT_EQ(raw->first_line(), line);
      for (std::size_t i = 0; i < raw->size(); ++i, ++line) {
        ParsedPair pair;
        reader.parser().parse(*raw, i, pair);
        EXPECT_EQ(pair.source, std::to_string(line - 1));
      }
    }
    EXPECT_EQ(line, 301U);
  }
}

TEST(PairFile, DescriptionsWithoutSenseAreRefused) {
  EXPECT_THROW(check({.source = "a"}), core::Error);
  EXPECT_THROW(check({.source = "-", .target = "-"}), core::Error);
  EXPECT_THROW(check({.format = PairFormat::kTsv, .source = "a", .source_column = 2}), core::Error);
  EXPECT_THROW(check({.format = PairFormat::kJsonl, .source = "a", .target_key = "source"}), core::Error);
}

}  // namespace
}  // namespace dragoman::corpus
