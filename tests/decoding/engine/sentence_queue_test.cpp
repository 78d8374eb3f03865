#include "sentence_queue.h"

#include <gtest/gtest.h>

namespace dragoman::engine {
namespace {

/// A queue whose workers take `per_sentence` for each sentence, full of sentences of rising length.
class SentenceQueueTest : public ::testing::Test {
 protected:
  using Queue = SentenceQueue<std::uint64_t>;

  void fill(std::uint64_t count) {
    for (std::uint64_t id = 0; id < count; ++id) queue_.push(id, id);
  }
  std::uint64_t take(std::chrono::microseconds per_sentence) {
    now_ += per_sentence;
    return queue_.pop();
  }
  /// How many sentences the next window holds: its first is its longest, which stands at its end.
  std::uint64_t take_window(std::chrono::microseconds per_sentence) {
    const std::uint64_t longest = take(per_sentence);
    const std::uint64_t size = longest + 1 - taken_;
    for (std::uint64_t i = 1; i < size; ++i) EXPECT_EQ(take(per_sentence), longest - i);
    taken_ += size;
    return size;
  }

  std::uint64_t taken_ = 0;
  Queue::Clock::time_point now_{};
  Queue queue_{[this] { return now_; }};
};

TEST_F(SentenceQueueTest, WindowsBeginSmallAndGrowWhileTheyAreQuick) {
  fill(20000);
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 8; ++i) sizes.push_back(take_window(std::chrono::microseconds(10)));
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{64, 128, 256, 512, 1024, 2048, 2048, 2048}));
}

TEST_F(SentenceQueueTest, AFinishedLineWaitsAboutASecondForThoseBeforeIt) {
  fill(20000);
  for (int i = 0; i < 3; ++i) take_window(std::chrono::microseconds(10));
  for (int i = 0; i < 5; ++i) take_window(std::chrono::milliseconds(5));  // 200 a second
  const std::uint64_t size = take_window(std::chrono::milliseconds(5));
  EXPECT_GE(size, 150U);
  EXPECT_LE(size, 250U);
  for (int i = 0; i < 3; ++i) take_window(std::chrono::seconds(1));
  EXPECT_EQ(take_window(std::chrono::seconds(1)), Queue::kSmallest);
}

TEST_F(SentenceQueueTest, ASlowInputIsHandedOutAtOnceAndSaysNothingAboutThePace) {
  fill(1);
  EXPECT_EQ(take(std::chrono::hours(1)), 0U);
  EXPECT_TRUE(queue_.empty());
  taken_ = 0;
  fill(20000);
  EXPECT_EQ(take_window(std::chrono::microseconds(1)), 64U);
  EXPECT_EQ(take_window(std::chrono::microseconds(1)), 128U);
}

TEST_F(SentenceQueueTest, OfEquallyLongSentencesTheFirstGoesFirst) {
  for (std::uint64_t id = 0; id < 5; ++id) queue_.push(7, id);
  for (std::uint64_t id = 0; id < 5; ++id) EXPECT_EQ(queue_.pop(), id);
}

}  // namespace
}  // namespace dragoman::engine
