#include "tiny_model.h"

#include <sys/stat.h>

#include <ctime>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/pipeline/record_io.h>

namespace dragoman::pipeline {
namespace {

class RecordIoTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& content) {
    const auto path = folder_ / "in";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::vector<Record> read(const ReadOptions& options) {
    RecordReader reader(options);
    std::vector<Record> records;
    while (auto record = reader.next()) records.push_back(std::move(*record));
    return records;
  }
  std::string written(const std::vector<Record>& records, RecordFormat format) {
    const auto path = folder_ / "out";
    RecordWriter writer({.path = path, .format = format});
    for (const Record& record : records) writer.write(record);
    writer.commit();
    return dragoman::testing::read_text(path);
  }
  static Record record_of(const std::string& text) {
    Record record;
    record.text = text;
    return record;
  }
  dragoman::testing::TemporaryFolder folder_;
};

TEST_F(RecordIoTest, TextKeepsEveryLine) {
  const auto records = read({.path = write("a\r\n\n b \nlast")});
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].text, "a");
  EXPECT_EQ(records[1].text, "");
  EXPECT_EQ(records[2].text, " b ");
  EXPECT_EQ(records[3].text, "last");
  EXPECT_EQ(records[3].line, 4U);
  EXPECT_EQ(written(records, RecordFormat::kText), "a\n\n b \nlast\n");
}

TEST_F(RecordIoTest, JsonlKeepsTheOtherKeys) {
  const auto records = read({.path = write("{\"id\": 7, \"source\": \"Hallo\"}\n"), .format = RecordFormat::kJsonl});
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].text, "Hallo");
  EXPECT_EQ(written(records, RecordFormat::kJsonl), "{\"line\":1,\"text\":\"Hallo\",\"id\":7}\n");
}

TEST_F(RecordIoTest, LinesThatAreNoRecordsFailInTheirPlace) {
  const auto records =
      read({.path = write("not json\n[1]\n{\"x\": 1}\n{\"source\": \"ok\"}\n"), .format = RecordFormat::kJsonl});
  ASSERT_EQ(records.size(), 4U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(records[static_cast<std::size_t>(i)].failed());
  EXPECT_EQ(records[3].text, "ok");
  EXPECT_EQ(written(records, RecordFormat::kText), "\n\n\nok\n");
}

TEST_F(RecordIoTest, TsvReplacesItsColumn) {
  auto records = read({.path = write("1\tHallo\tx\nshort\n"), .format = RecordFormat::kTsv, .column = 2});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].text, "Hallo");
  EXPECT_TRUE(records[1].failed());
  records[0].text = "Hello";
  const auto path = folder_ / "tsv";
  RecordWriter writer({.path = path, .format = RecordFormat::kTsv, .column = 2});
  writer.write(records[0]);
  writer.commit();
  EXPECT_EQ(dragoman::testing::read_text(path), "1\tHello\tx\n");
}

TEST_F(RecordIoTest, PrefixesOfTranslationsComeFromAColumnOrAnotherFile) {
  auto records =
      read({.path = write("Hallo\tHel\nWelt\t\nshort\n"), .format = RecordFormat::kTsv, .target_prefix_column = 2});
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].fields["target_prefix"], "Hel");
  EXPECT_FALSE(records[1].fields.contains("target_prefix"));
  EXPECT_TRUE(records[2].failed());
  const auto prefixes = folder_ / "prefixes";
  std::ofstream(prefixes) << "A\r\n\nC\xff\n";
  ReadOptions options{.path = write("1\n2\n3\n"), .target_prefix_path = prefixes};
  records = read(options);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].fields["target_prefix"], "A");
  EXPECT_FALSE(records[1].fields.contains("target_prefix"));
  EXPECT_EQ(records[2].fields["target_prefix"], "C\xef\xbf\xbd");
  RecordReader resumed(options);
  resumed.skip(2);
  EXPECT_EQ(resumed.next()->fields["target_prefix"], "C\xef\xbf\xbd");
  for (const char* uneven : {"1\n2\n", "1\n2\n3\n4\n"}) {
    options.path = write(uneven);
    try {
      read(options);
      FAIL() << "files of different lengths were read";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("they must be parallel"));
    }
  }
}

/// Whatever their number: together they are the whole, each line with its own number, about equally many in each.
TEST_F(RecordIoTest, ShardsTogetherAreTheWhole) {
  const auto further = folder_ / "further.gz";
  const auto empty = folder_ / "empty";
  std::ofstream(empty).flush();
  for (const std::size_t lines : {0U, 1U, 5U, 12U, 31U}) {
    std::string content;
    for (std::size_t i = 0; i < lines; ++i) content += "line " + std::to_string(i) + (i + 1 < lines ? "\n" : "");
    core::write_file(further, "one\ntwo\nthree");
    ReadOptions options{.path = write(content), .further_paths = {empty, further}};
    const auto whole = read(options);
    ASSERT_EQ(whole.size(), lines + 3);
    EXPECT_EQ(whole.back().text, "three");
    for (std::uint64_t count = 1; count <= 9; ++count) {
      std::vector<Record> joined;
      for (std::uint64_t number = 1; number <= count; ++number) {
        options.shard = {.number = number, .count = count};
        const auto part = read(options);
        EXPECT_GE(part.size(), whole.size() / count);
        EXPECT_LE(part.size(), whole.size() / count + 1);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      ASSERT_EQ(joined.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(joined[i].text, whole[i].text);
        EXPECT_EQ(joined[i].line, i + 1);
      }
    }
  }
}

TEST_F(RecordIoTest, AShardIsSkippedThroughLikeAFileOfItsOwn) {
  const auto prefixes = folder_ / "prefixes";
  std::ofstream(prefixes) << "A\nB\nC\nD\nE\n";
  const ReadOptions options{
      .path = write("1\n2\n3\n4\n5\n"), .shard = {.number = 2, .count = 2}, .target_prefix_path = prefixes};
  RecordReader reader(options);
  EXPECT_EQ(reader.lines(), 2U);
  reader.skip(1);
  const auto last = reader.next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->text, "5");
  EXPECT_EQ(last->fields["target_prefix"], "E");
  EXPECT_EQ(reader.lines_read(), 2U);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.at_end());
  RecordReader first({.path = options.path, .shard = {.number = 1, .count = 2}});
  while (first.next()) {
  }
  EXPECT_EQ(first.lines_read(), 3U);
  EXPECT_NE(first.hash(), reader.hash());
  EXPECT_THROW(RecordReader(options).skip(3), core::Error);
}

TEST_F(RecordIoTest, WhatIsNoShardIsRefused) {
  const Shard shard = parse_shard("12/1000");
  EXPECT_EQ(shard.number, 12U);
  EXPECT_EQ(shard.count, 1000U);
  for (const char* text : {"", "/", "1", "0/2", "3/2", "1/0", "1/2/3", "-1/2", " 1/2", "1/2 ", "a/b", "1/1000001",
                           "1/18446744073709551617"})
    EXPECT_THROW(parse_shard(text), core::Error) << text;
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::fstream writer(pipe, std::ios::in | std::ios::out);  // so that opening it does not wait
  try {
    RecordReader reader({.path = pipe, .shard = {.number = 1, .count = 2}});
    FAIL() << "a pipe cannot be counted";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("pipe: is no file that could be read twice"));
  }
}

TEST_F(RecordIoTest, ALinesPlaceIsInItsFile) {
  const auto further = folder_ / "further";
  std::ofstream(further) << "c\nd\n";
  RecordReader reader({.path = write("a\nb\n"), .further_paths = {further}});
  while (reader.next()) {
  }
  EXPECT_THAT(reader.place_of(2), ::testing::EndsWith("/in: line 2"));
  EXPECT_THAT(reader.place_of(3), ::testing::EndsWith("/further: line 1"));
  EXPECT_THAT(reader.place_of(4), ::testing::EndsWith("/further: line 2"));
}

/// However a line comes, the file is the same.
TEST_F(RecordIoTest, ALineMayComeBitByBit) {
  const auto path = folder_ / "out";
  RecordWriter writer({.path = path, .stream = true});
  ASSERT_TRUE(writer.takes_beginnings());
  writer.write_beginning("ein");
  writer.flush();
  EXPECT_EQ(dragoman::testing::read_text(path.string() + ".partial"), "ein");
  writer.write_beginning(" Hund");
  writer.write(record_of("ein Hund bellt"));
  writer.write(record_of("zwei"));
  writer.write_beginning("drei");
  writer.write(record_of("drei"));
  writer.write_beginning("vier");
  Record failed;
  failed.mark_failed("no");
  writer.write(failed);
  writer.write_beginning("Hund");
  EXPECT_THROW(writer.write(record_of("Katze")), core::Error);
  writer.write(record_of("Ende"));
  writer.commit();
  EXPECT_EQ(dragoman::testing::read_text(path), "ein Hund bellt\nzwei\ndrei\nvier\nHundEnde\n");
  EXPECT_FALSE(
      RecordWriter({.path = folder_ / "b", .format = RecordFormat::kJsonl, .stream = true}).takes_beginnings());
}

TEST_F(RecordIoTest, ResumeKeepsCompleteLinesOnly) {
  const auto path = folder_ / "out";
  std::ofstream(path.string() + ".partial") << "one\ntwo\nthr";
  RecordWriter writer({.path = path, .partial = core::PartialPolicy::kResume});
  EXPECT_EQ(writer.lines_kept(), 2U);
  Record record;
  record.text = "three";
  writer.write(record);
  writer.commit();
  EXPECT_EQ(dragoman::testing::read_text(path), "one\ntwo\nthree\n");
}

TEST_F(RecordIoTest, APartialFileIsNotReplacedByDefault) {
  const auto path = folder_ / "out";
  std::ofstream(path.string() + ".partial") << "one\n";
  try {
    const RecordWriter writer({.path = path});
    FAIL() << "the partial file was taken";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("`resume`"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("`overwrite`"));
  }
}

TEST_F(RecordIoTest, DeeplyNestedJsonFailsItsLineOnly) {
  const std::string deep = "{\"source\": \"a\", \"x\": " + std::string(70000, '[') + std::string(70000, ']') + "}";
  const auto records = read({.path = write(deep + "\n{\"source\": \"ok\"}\n"), .format = RecordFormat::kJsonl});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_THAT(records[0].message, ::testing::HasSubstr("nested deeper than 100 levels"));
  EXPECT_EQ(records[1].text, "ok");
}

TEST_F(RecordIoTest, ResultsWinOverKeysOfTheInput) {
  const auto records =
      read({.path = write(R"({"line": 9, "text": "x", "error": "no", "input": 1, "source": "Hallo", "id": 7})"
                          "\n"),
            .format = RecordFormat::kJsonl});
  EXPECT_EQ(written(records, RecordFormat::kJsonl),
            R"({"line":1,"text":"Hallo","id":7,"input":{"line":9,"text":"x","error":"no","input":1}})"
            "\n");
}

TEST_F(RecordIoTest, ALineWithAKeyTwiceFails) {
  const auto records = read({.path = write(R"({"source": "x", "source": "y"})"
                                           "\n"
                                           R"({"source": "x", "b": {"c": 1, "c": 2}})"
                                           "\n"
                                           R"({"source": "x", "b": {"source": 1}})"
                                           "\n"),
                             .format = RecordFormat::kJsonl});
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].message, "the key 'source' is in this object twice at byte 17");
  EXPECT_EQ(records[1].message, "the key 'c' is in this object twice at byte 31");
  EXPECT_FALSE(records[2].failed()) << records[2].message;
}

TEST_F(RecordIoTest, AHundredThousandKeysTakeNoTimeToSpeakOf) {
  std::string line = "{";
  for (int i = 0; i < 100000; ++i) line += fmt::format("\"key{}\": {}, ", i, i);
  line += "\"source\": \"ok\"}\n";
  const std::clock_t start = std::clock();  // of the processor: others may be busy, too
  const auto records = read({.path = write(line), .format = RecordFormat::kJsonl});
  const std::string out = written(records, RecordFormat::kJsonl);
  // Looking each key up among those before it took 12 s; sorted, they take 0.1 s.
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  EXPECT_EQ(records.front().text, "ok");
  EXPECT_THAT(out, ::testing::HasSubstr("\"key99999\":99999"));
}

TEST_F(RecordIoTest, NumbersAndTextKeepWhatTheyAre) {
  const std::string values = R"({"big":18446744073709551615,"small":-3,"real":0.25,"none":null,"list":[true,"a\"b"]})";
  const auto records =
      read({.path = write(R"({"source": "x", "values": )" + values + "}\n"), .format = RecordFormat::kJsonl});
  EXPECT_EQ(records.front().fields["values"].dump(), values);
}

TEST_F(RecordIoTest, ColumnsCountFromOne) {
  for (const std::uint64_t column : {std::uint64_t{0}, kMaxColumns + 1, ~std::uint64_t{0}}) {
    EXPECT_THROW(RecordReader({.path = write("a\n"), .format = RecordFormat::kTsv, .column = column}), core::Error);
    EXPECT_THROW(RecordWriter({.path = folder_ / "out", .format = RecordFormat::kTsv, .column = column}), core::Error);
  }
}

TEST_F(RecordIoTest, ATextStaysInItsColumn) {
  Record record;
  record.text = "a\tb";
  record.fields["columns"] = {"1", "x"};
  EXPECT_EQ(written({record}, RecordFormat::kTsv), "a b\tx\n");
  record.fields["columns"] = {1, 2};  // a key of that name in jsonl, and no columns
  EXPECT_EQ(written({record}, RecordFormat::kTsv), "a b\n");
}

TEST_F(RecordIoTest, TheHashIsThatOfTheLinesBeforeAnythingIsMendedInThem) {
  RecordReader first({.path = write("a\r\nb\xFF\n")});
  while (first.next()) {
  }
  RecordReader again({.path = folder_ / "in"});
  again.skip(2);
  EXPECT_EQ(again.hash(), first.hash());
  RecordReader other({.path = write("a\nb\xFF\n")});
  other.skip(2);
  EXPECT_NE(other.hash(), first.hash());
}

TEST_F(RecordIoTest, SkippingMoreThanThereIsNamesBothCounts) {
  RecordReader reader({.path = write("a\nb\n")});
  EXPECT_THROW(reader.skip(3), core::Error);
}

}  // namespace
}  // namespace dragoman::pipeline
