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

}  // namespace
}  // namespace dragoman::testing
