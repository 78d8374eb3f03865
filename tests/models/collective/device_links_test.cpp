#include "ranks.h"

#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/collective/device_links.h>

namespace dragoman::collective {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::run_ranks;

std::string reason(const std::vector<LinkOffer>& offers) {
  std::vector<std::string> reasons(offers.size());
  const auto errors = run_ranks(static_cast<int>(offers.size()), [&](Collective& ranks) {
    const auto own = static_cast<std::size_t>(ranks.rank());
    reasons[own] = reason_against_links(ranks, offers[own]);
    ranks.close();
  });
  EXPECT_THAT(errors, Each(""));
  EXPECT_THAT(reasons, Each(reasons.front())) << "all find the same";
  return reasons.front();
}

TEST(DeviceLinks, AreHadWhereAllHaveTheSameAndADeviceEach) {
  EXPECT_EQ(reason({{"NCCL 2.20.5", "a"}, {"NCCL 2.20.5", "b"}, {"NCCL 2.20.5", "c"}}), "");
  EXPECT_THAT(reason({{"NCCL 2.20.5", "a"}, {"", "", "it has no library"}, {"", "", "nor has it"}}),
              AllOf(HasSubstr("rank 1 ("), HasSubstr("it has no library")));
  EXPECT_THAT(reason({{"NCCL 2.20.5", "a"}, {"NCCL 2.20.5", "b"}, {"NCCL 2.27.3", "c"}}),
              AllOf(HasSubstr("rank 2 ("), HasSubstr("has NCCL 2.27.3, and rank 0 ("), HasSubstr("has NCCL 2.20.5")));
  EXPECT_THAT(reason({{"NCCL 2.20.5", "a"}, {"NCCL 2.20.5", "b"}, {"NCCL 2.20.5", "b"}}),
              AllOf(HasSubstr("rank 1 ("), HasSubstr("rank 2 ("), HasSubstr("same device (b)")));
}

/// Collective::check() by TCP, which whoever waits in links calls.
TEST(TcpCheck, LeavesWhatIsSentAheadToBeRead) {
  std::latch sent(1);
  const auto errors = run_ranks(2, [&](Collective& ranks) {
    if (ranks.leads()) {
      ranks.check();
      sent.wait();
      for (int i = 0; i < 3; ++i) ranks.check();
      EXPECT_EQ(ranks.broadcast_text("", 1), "ahead");
      ranks.check();
    } else {
      ranks.broadcast_text("ahead", 1);
      sent.count_down();
    }
    ranks.close();
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(TcpCheck, FindsWhoGaveUpAndWhoHasGone) {
  const auto wait_for_the_end = [](Collective& ranks) {
    for (int i = 0; i < 2000; ++i) {
      ranks.check();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
  auto errors = run_ranks(2, [&](Collective& ranks) {
    if (ranks.leads()) return wait_for_the_end(ranks);
    ranks.abort(core::ErrorCode::kIo, "planted failure");
    EXPECT_THROW(ranks.check(), core::Error);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1 ("), HasSubstr("gave up: planted failure")));
  errors = run_ranks(2, [&](Collective& ranks) {
    if (ranks.leads()) return wait_for_the_end(ranks);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1 ("), HasSubstr("has ended without a word")));
  // With something sent before.
  errors = run_ranks(2, [&](Collective& ranks) {
    if (ranks.leads()) return wait_for_the_end(ranks);
    ranks.broadcast_text("", 1);
  });
  EXPECT_THAT(errors[0], HasSubstr("has ended without a word"));
}

}  // namespace
}  // namespace dragoman::collective
