#include <gtest/gtest.h>

int header_examples();  // of the source that extract_header_examples writes

namespace dragoman {
namespace {

/// The compiler has checked them. This test notices if their layout changes and they are no longer found.
TEST(HeaderExamples, AreFoundInTheCommentsOfPublicHeaders) {
  EXPECT_GE(header_examples(), 150);
}

}  // namespace
}  // namespace dragoman
