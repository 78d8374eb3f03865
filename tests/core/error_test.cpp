#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::core {
namespace {

TEST(Error, CarriesCodeMessageAndPlace) {
  try {
    fail(ErrorCode::kBadInput, "{}: line {}: {}", "corpus.de", 17, "too long");
    FAIL() << "fail() returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_STREQ(error.what(), "corpus.de: line 17: too long");
    EXPECT_TRUE(std::string(error.location().file).ends_with("error_test.cpp")) << error.location().file;
  }
}

TEST(Error, IsAlwaysOneLine) {
  const Error error(ErrorCode::kIo, "first\nsecond\nthird");
  EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
}

TEST(Error, IsCaughtAsAStandardException) {
  EXPECT_THROW(fail(ErrorCode::kInternal, "broken"), std::runtime_error);
}

TEST(Require, ThrowsOnlyIfTheConditionFails) {
  EXPECT_NO_THROW(require(true, ErrorCode::kInvalidArgument, "never seen"));
  EXPECT_THROW(require(false, ErrorCode::kInvalidArgument, "seen with {}", 1), Error);
}

struct CountsFormatting {
  int* count;
};

}  // namespace
}  // namespace dragoman::core

template <>
struct fmt::formatter<dragoman::core::CountsFormatting> : fmt::formatter<int> {
  template <class FormatContext>
  auto format(const dragoman::core::CountsFormatting& value, FormatContext& context) const {
    ++*value.count;
    return fmt::formatter<int>::format(*value.count, context);
  }
};

namespace dragoman::core {
namespace {

TEST(Require, FormatsTheMessageOnlyOnFailure) {
  int formatted = 0;
  require(true, ErrorCode::kInternal, "{}", CountsFormatting{&formatted});
  EXPECT_EQ(formatted, 0);
  EXPECT_THROW(require(false, ErrorCode::kInternal, "{}", CountsFormatting{&formatted}), Error);
  EXPECT_EQ(formatted, 1);
}

}  // namespace
}  // namespace dragoman::core
