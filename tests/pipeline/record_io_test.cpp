#include "tiny_model.h"

#include <fstream>

#include <gtest/gtest.h>

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

TEST_F(RecordIoTest, ResumeKeepsCompleteLinesOnly) {
  const auto path = folder_ / "out";
  std::ofstream(path.string() + ".partial") << "one\ntwo\nthr";
  RecordWriter writer({.path = path, .resume = true});
  EXPECT_EQ(writer.lines_kept(), 2U);
  Record record;
  record.text = "three";
  writer.write(record);
  writer.commit();
  EXPECT_EQ(dragoman::testing::read_text(path), "one\ntwo\nthree\n");
}

TEST_F(RecordIoTest, SkippingMoreThanThereIsNamesBothCounts) {
  RecordReader reader({.path = write("a\nb\n")});
  EXPECT_THROW(reader.skip(3), core::Error);
}

}  // namespace
}  // namespace dragoman::pipeline
