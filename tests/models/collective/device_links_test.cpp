#include "ranks.h"

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

}  // namespace
}  // namespace dragoman::collective
