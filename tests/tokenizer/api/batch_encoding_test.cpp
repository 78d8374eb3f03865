#include "dragoman/tokenizer/batch_encoding.h"

#include "tokenizer_test_support.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::testing {
namespace {

class BatchEncodingTest : public ::testing::Test {
 protected:
  BatchEncodingTest() {
    for (int i = 0; i < 1000; ++i)
      lines_.push_back("Ein Hund läuft " + std::string(static_cast<std::size_t>(i % 7), 'x'));
    lines_[3].clear();
    views_.assign(lines_.begin(), lines_.end());
  }
  void expect_each_text(const tokenizer::EncodedTexts& encoded) const {
    ASSERT_EQ(encoded.size(), lines_.size());
    for (std::size_t i = 0; i < lines_.size(); ++i)
      EXPECT_THAT(std::vector<std::int32_t>(encoded[i].begin(), encoded[i].end()),
                  ::testing::ContainerEq(tokenizer_->encode(lines_[i])));
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_ =
      tokenizer::load_tokenizer(source_folder() / "tests/tokenizer/golden/default.tokenizer.json");
  std::vector<std::string> lines_;
  std::vector<std::string_view> views_;
};

TEST_F(BatchEncodingTest, HasTheIdsOfEachText) {
  for (const int threads : {1, 3}) expect_each_text(encode_batch(*tokenizer_, views_, *core::make_executor(threads)));
  EXPECT_EQ(encode_batch(*tokenizer_, std::span(views_).first(0), *core::make_executor(2)).size(), 0U);
}

TEST_F(BatchEncodingTest, EncodesTextsThatAreMadeMeanwhile) {
  std::vector<std::string_view> made(views_.size());
  std::atomic<std::size_t> ready = 0;
  std::jthread maker([&] {
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = views_[i];
      ++ready;
      ready.notify_all();
    }
  });
  const auto wait = [&](std::size_t begin, std::size_t end) {
    for (std::size_t now = ready; now < end; now = ready) ready.wait(now);
    return std::span<const std::string_view>(made).subspan(begin, end - begin);
  };
  expect_each_text(encode_batch(*tokenizer_, made.size(), wait, *core::make_executor(2)));
}

TEST_F(BatchEncodingTest, FailsAsTheTextsDo) {
  const auto fail = [&](std::size_t begin, std::size_t end) -> std::span<const std::string_view> {
    core::require(begin == 0, core::ErrorCode::kIo, "the texts are gone");
    return std::span<const std::string_view>(views_).subspan(begin, end - begin);
  };
  EXPECT_THROW(encode_batch(*tokenizer_, views_.size(), fail, *core::make_executor(2)), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
