#include "admission.h"

#include "error_message.h"
#include "request_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::server {
namespace {

using std::chrono::seconds;

TEST(Admission, CountsCharactersAndTexts) {
  EXPECT_EQ(Admission::weight({"abc", "äöü🙂"}), 2 * 64 + 3 + 4u);
  EXPECT_EQ(Admission::weight({}), 64u);
}

TEST(Admission, TheWaitFollowsThePace) {
  const Admission::Clock::time_point start{};
  Admission admission(1000);
  admission.enter(600, start);
  admission.enter(300, start);
  const auto wait = [&](std::size_t weight, seconds now) {
    try {
      admission.enter(weight, start + now);
    } catch (const Busy& busy) {
      return busy.retry_after();
    }
    return seconds(0);
  };
  EXPECT_EQ(wait(200, seconds(1)), seconds(1)) << "nothing is known of the pace";
  admission.leave(600, 600);  // 600 characters in 10 s
  EXPECT_EQ(wait(1000, seconds(10)), seconds(5)) << "300 too many";
  EXPECT_EQ(wait(1000, seconds(100'000)), seconds(60)) << "at most a minute";
  ServiceLoad load;
  admission.describe(load);
  EXPECT_EQ(load.requests, 1u);
  EXPECT_EQ(load.characters, 300u);
  EXPECT_EQ(load.refused, 3u);
  EXPECT_EQ(wait(700, seconds(11)), seconds(0));
  admission.leave(300, 300);
  admission.leave(700, 700);
  admission.describe(load);
  EXPECT_EQ(load.characters, 0u);
  EXPECT_EQ(load.requests_done, 3u);
}

TEST(CompletedSearch, HasAHypothesisForEachAlternative) {
  TranslateRequest request;
  request.alternatives = 7;
  EXPECT_EQ(completed_search({}, request, "beam", 4), (decoding::Search{.beam_size = 8, .n_best = 8}));
  EXPECT_EQ(completed_search({}, request, "beam", 12), (decoding::Search{.n_best = 8}));
  EXPECT_EQ(completed_search({.beam_size = 10}, request, "beam", 4), (decoding::Search{.beam_size = 10, .n_best = 8}));
  EXPECT_EQ(completed_search({.decoder = "sampling"}, request, "beam", 4),
            (decoding::Search{.decoder = "sampling", .n_best = 8}));
  request.alternatives = 0;
  EXPECT_EQ(completed_search({}, request, "greedy", 1), decoding::Search());
  request.constraints = {"a"};
  EXPECT_EQ(completed_search({}, request, "greedy", 1), decoding::Search{.decoder = "beam"});
  EXPECT_EQ(completed_search({}, request, "beam", 1), (decoding::Search{.beam_size = 4}));
}

}  // namespace
}  // namespace dragoman::server
