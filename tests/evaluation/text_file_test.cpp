#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/evaluation/text_file.h>

namespace dragoman::testing {
namespace {

using evaluation::read_text_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TextFile, lines_lose_white_space_at_their_ends_only) {
  const TemporaryFolder folder;
  core::write_file(folder / "text", " one \r\n\ntwo\u3000\nthree\xFF");
  EXPECT_THAT(read_text_file(folder / "text").lines, ElementsAre(" one", "", "two", "three\uFFFD"));
}

TEST(TextFile, gzip_is_recognised_by_content) {
  const TemporaryFolder folder;
  // printf 'one\ntwo\n' | gzip -n | xxd -i
  const unsigned char bytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0xcf, 0x4b, 0xe5,
                                 0x2a, 0x29, 0xcf, 0xe7, 0x02, 0x00, 0xe6, 0x0b, 0xba, 0x12, 0x08, 0x00, 0x00, 0x00};
  core::write_file(folder / "text", std::string_view(reinterpret_cast<const char*>(bytes), sizeof bytes));
  EXPECT_THAT(read_text_file(folder / "text").lines, ElementsAre("one", "two"));
}

TEST(TextFile, an_empty_file_is_an_error_that_names_it) {
  const TemporaryFolder folder;
  core::write_file(folder / "nothing.txt", "");
  EXPECT_THAT(error_of([&] { read_text_file(folder / "nothing.txt"); }), HasSubstr("nothing.txt: the file is empty"));
}

TEST(TextFile, different_lengths_are_an_error_that_names_both_files_and_counts) {
  const evaluation::TextFile hypothesis{.name = "hyp.txt", .lines = {"a", "b", "c"}};
  const evaluation::TextFile reference{.name = "ref.txt", .lines = {"a", "b"}};
  EXPECT_THAT(error_of([&] { check_parallel(hypothesis, reference); }),
              AllOf(HasSubstr("hyp.txt has 3"), HasSubstr("ref.txt has 2")));
  EXPECT_EQ(error_of([&] { check_parallel(hypothesis, hypothesis); }), "no error");
}

TEST(ParallelTextReader, reads_the_lines_of_read_text_file) {
  const TemporaryFolder folder;
  core::write_file(folder / "one", " a \r\n\nb\xFF");
  core::write_file(folder / "other", "c\nd\u3000\n \n");
  evaluation::ParallelTextReader texts;
  texts.open(folder / "one");
  texts.open(folder / "other");
  std::vector<std::vector<std::string>> columns(2);
  while (texts.next())
    for (std::size_t i = 0; i < 2; ++i) columns[i].push_back(texts.lines()[i]);
  EXPECT_EQ(columns[0], read_text_file(folder / "one").lines);
  EXPECT_EQ(columns[1], read_text_file(folder / "other").lines);
  EXPECT_EQ(texts.name(1), (folder / "other").string());
}

TEST(ParallelTextReader, different_lengths_are_the_error_of_check_parallel) {
  const TemporaryFolder folder;
  core::write_file(folder / "three", "a\nb\nc\n");
  core::write_file(folder / "one", "a\n");
  core::write_file(folder / "nothing", "");
  const auto read = [&](const std::string& first, const std::string& second) {
    evaluation::ParallelTextReader texts;
    texts.open(folder / first);
    texts.open(folder / second);
    while (texts.next()) {
    }
  };
  EXPECT_THAT(error_of([&] { read("three", "one"); }), AllOf(HasSubstr("three has 3 lines"), HasSubstr("one has 1")));
  EXPECT_THAT(error_of([&] { read("one", "three"); }), AllOf(HasSubstr("one has 1 lines"), HasSubstr("three has 3")));
  EXPECT_EQ(error_of([&] { read("three", "three"); }), "no error");
  EXPECT_THAT(error_of([&] { read("three", "nothing"); }), HasSubstr("nothing: the file is empty"));
}

}  // namespace
}  // namespace dragoman::testing
