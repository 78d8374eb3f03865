#include "reading/chunk_reader.h"

#include "test_data.h"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// Words and lines of which some are longer than a chunk.
std::string random_text(unsigned seed, std::size_t size) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) {
    text.append(random() % 20000 == 0 ? 1500000 : random() % 9, 'x');
    text += random() % 10 == 0 ? '\n' : ' ';
  }
  return text;
}

class ChunkReaderTest : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& text) {
    core::write_file(folder_ / name, text);
    return folder_ / name;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ChunkReaderTest, AByteOrderMarkAtTheStartOfAFileIsNoText) {
  const std::string mark = "\uFEFF";
  ChunkReader reader({put("a", mark + "one\n" + mark + "two"), put("only", mark), put("b", mark + mark + "three\n"),
                      put("c", "four" + mark + "\n")},
                     ChunkReader::Unit::kLine, {});
  Chunk chunk;
  std::string all;
  for (reader.next(chunk); chunk.size > 0; reader.next(chunk)) all.append(chunk.text()) += '|';
  EXPECT_EQ(all, "one\n|" + mark + "two|" + mark + "three\n|four" + mark + "\n|");
}

TEST_F(ChunkReaderTest, PlacesOfBadBytesCountTheMark) {
  ChunkReader reader({put("a", "\uFEFFab\xFF\n")}, ChunkReader::Unit::kLine, {},
                     std::numeric_limits<std::size_t>::max(), InvalidUtf8::kFail);
  Chunk chunk;
  try {
    reader.next(chunk);
    FAIL() << "0xFF is not UTF-8";
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("at offset 5 of"), std::string::npos) << error.what();
  }
}

TEST_F(ChunkReaderTest, ChunksEndAtBoundariesAndMakeUpTheFiles) {
  const std::string first = random_text(1, 5000000) + "the end without a boundary";
  const std::string second = random_text(2, 3000000);
  for (const auto unit : {ChunkReader::Unit::kWord, ChunkReader::Unit::kLine}) {
    ChunkReader reader({put("a", first), put("empty", ""), put("b", second)}, unit, {});
    Chunk chunk;
    std::string all;
    std::uint64_t lines = 0;
    int chunks = 0;
    for (reader.next(chunk); chunk.size > 0; reader.next(chunk), ++chunks) {
      const std::string_view text = chunk.text();
      ASSERT_GE(chunk.bytes.size(), chunk.size + Chunk::kPadding);
      const std::size_t end = all.size() + text.size();
      const bool at_file_end = end == first.size() || end == first.size() + second.size();
      ASSERT_TRUE(at_file_end || text.back() == '\n' || (unit == ChunkReader::Unit::kWord && text.back() == ' '));
      if (unit == ChunkReader::Unit::kLine) {
        ASSERT_EQ(chunk.first_line, lines);
        lines += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) + (text.back() == '\n' ? 0 : 1);
      }
      all += text;
    }
    EXPECT_GT(chunks, 4);
    EXPECT_EQ(all, first + second);
    EXPECT_EQ(reader.bytes_read(), all.size());
    EXPECT_EQ(reader.lines_read(), lines);
  }
}

TEST_F(ChunkReaderTest, EmptyInputsGiveNoChunk) {
  ChunkReader reader({put("a", ""), put("b", "")}, ChunkReader::Unit::kLine, {});
  Chunk chunk;
  reader.next(chunk);
  EXPECT_EQ(chunk.size, 0U);
  EXPECT_EQ(reader.lines_read(), 0U);
}

}  // namespace
}  // namespace dragoman::tokenizer
