#include <gtest/gtest.h>

#include <dragoman/pipeline/line_policy.h>

namespace dragoman::pipeline {
namespace {

TEST(CleanLine, DropsOneCarriageReturnAtTheEnd) {
  std::string line = "a\rb\r\r";
  EXPECT_EQ(clean_line(line), 0U);
  EXPECT_EQ(line, "a\rb\r");
}

TEST(CleanLine, ReplacesInvalidUtf8AndCounts) {
  std::string line = "a\xFF b\xE2\x82";
  EXPECT_EQ(clean_line(line), 2U);
  EXPECT_EQ(line, "a\xEF\xBF\xBD b\xEF\xBF\xBD");
}

TEST(Describe, SaysOnlyWhatHappened) {
  EXPECT_EQ(describe({.lines = 10}), "");
  EXPECT_EQ(describe({.lines = 10, .with_invalid_utf8 = 1, .split_for_length = 2}),
            "1 line held invalid UTF-8 (replaced by U+FFFD), 2 lines were too long for the model and were split");
}

}  // namespace
}  // namespace dragoman::pipeline
