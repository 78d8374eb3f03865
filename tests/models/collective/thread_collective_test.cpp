#include "collective_cases.h"
#include "ranks.h"

#include <chrono>
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::collective {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run_ranks;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ThreadCollective, GathersAndBroadcastsTexts) {
  for (const int size : {1, 2, 4}) {
    const auto errors = run_ranks(size, [&](Collective& collective) {
      testing::expect_texts(collective);
      collective.close();
    });
    EXPECT_THAT(errors, Each(""));
  }
}

TEST(ThreadCollective, ExchangesWhatEachHasForEach) {
  const auto errors = run_ranks(3, [&](Collective& collective) {
    testing::expect_blocks(collective);
    collective.close();
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ThreadCollective, WhoGivesUpTellsTheOthersWhy) {
  const auto errors = run_ranks(3, [&](Collective& collective) {
    collective.barrier();
    if (collective.rank() == 1) {
      collective.abort(core::ErrorCode::kIo, "the disk is full");
      core::fail(core::ErrorCode::kIo, "own error");
    }
    try {
      collective.barrier();
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kIo);
      EXPECT_EQ(error_of([&] { collective.barrier(); }), error.what()) << "an error stays";
      throw;
    }
  });
  const auto message = AllOf(HasSubstr("rank 1 ("), HasSubstr("gave up: the disk is full"));
  EXPECT_THAT(errors, ElementsAre(message, "own error", message));
}

/// Everybody reports the first that ended, not those that ended because of it.
TEST(ThreadCollective, WhoEndsWithoutClosingIsNamed) {
  const auto errors = run_ranks(3, [&](Collective& collective) {
    collective.barrier();
    if (collective.rank() != 2) collective.barrier();
  });
  const auto message = HasSubstr("rank 2 (this machine) has ended without closing the job");
  EXPECT_THAT(errors, ElementsAre(message, message, ""));
}

TEST(ThreadCollective, CheckFindsWhoGaveUpAndWhoHasEnded) {
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
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1 ("), HasSubstr("has ended without closing the job")));
}

TEST(ThreadCollective, CheckLeavesWhatIsSentToBeReceived) {
  std::latch sends(1);
  const auto errors = run_ranks(2, [&](Collective& ranks) {
    if (ranks.leads()) {
      ranks.check();
      sends.wait();
      for (int i = 0; i < 3; ++i) ranks.check();
      EXPECT_EQ(ranks.broadcast_text("", 1), "ahead");
      ranks.check();
    } else {
      sends.count_down();
      ranks.broadcast_text("ahead", 1);
    }
    ranks.close();
  });
  EXPECT_THAT(errors, Each(""));
}

/// What a rank does after close() is its own affair: others may still be on their way out of it.
TEST(ThreadCollective, AClosedJobMayBeLeftInAnyOrder) {
  for (int repetition = 0; repetition < 200; ++repetition)
    EXPECT_THAT(run_ranks(4,
                          [](Collective& collective) {
                            collective.close();
                            collective.abort(core::ErrorCode::kIo, "too late to matter");
                          }),
                Each(""));
}

TEST(ThreadCollective, TwoJobsAtOnceDoNotMix) {
  const auto gather = [](const std::string& job) {
    const auto errors = run_ranks(3, [&](Collective& collective) {
      for (int i = 0; i < 200; ++i)
        for (const std::string& text : collective.gather_texts(job)) EXPECT_EQ(text, job);
      collective.close();
    });
    EXPECT_THAT(errors, Each(""));
  };
  const std::jthread other([&] { gather("the other job"); });
  gather("this job");
}

TEST(ThreadCollective, ASingleRankHasNobodyToWaitFor) {
  const std::unique_ptr<Collective> single = make_single();
  EXPECT_TRUE(single->alone() && single->leads());
  EXPECT_EQ(single->local_rank(), 0);
  EXPECT_THAT(single->gather_texts("own"), ElementsAre("own"));
  EXPECT_EQ(single->broadcast_text("own"), "own");
  single->close();
}

TEST(ThreadCollective, RanksOfOneMachineHaveLocalRanksInOrder) {
  EXPECT_THAT(run_ranks(3,
                        [](Collective& collective) {
                          EXPECT_EQ(collective.local_rank(), collective.rank());
                          collective.close();
                        }),
              Each(""));
  EXPECT_THAT(error_of([] { make_threads(0); }), HasSubstr("a job of 0 threads"));
}

TEST(ThreadCollective, AnotherThreadCanEndAnExchange) {
  std::latch ended(2);
  const auto errors = run_ranks(2, [&](Collective& collective) {
    if (collective.rank() == 1) {
      ended.arrive_and_wait();  // alive, and says nothing
      return;
    }
    std::jthread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      collective.abort(core::ErrorCode::kInternal, "no more");
    });
    const std::string error = error_of([&] { collective.barrier(); });
    ended.arrive_and_wait();
    EXPECT_THAT(error, HasSubstr("has given up"));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ThreadCollective, ProcessesThatDoNotDoTheSameAreTold) {
  const auto errors = run_ranks(2, testing::exchange_other_lengths);
  EXPECT_THAT(errors[0] + errors[1], HasSubstr("the processes do not do the same"));
}

/// Equal lengths, but one has made an exchange more.
TEST(ThreadCollective, ExchangesAreCounted) {
  const auto errors = run_ranks(2, [](Collective& collective) {
    const std::vector<Collective::Bytes> none(2);
    const std::vector<Collective::Room> no_room(2);
    if (collective.rank() == 1) collective.exchange(none, no_room);
    collective.barrier();
  });
  EXPECT_THAT(errors[0] + errors[1], HasSubstr("the processes do not do the same"));
}

}  // namespace
}  // namespace dragoman::collective
