#include "mpi_collective.h"

#include "collective_cases.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// mpirun starts this program several times, and every process runs all tests in the same order.
namespace dragoman::collective::mpi {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Lives as long as MPI.
std::unique_ptr<MpiCollective> job;
/// Those that a test has broken stay until the process ends, since MPI may still write to their memory.
std::vector<std::unique_ptr<MpiCollective>> broken;

class Job : public ::testing::Environment {
  void SetUp() override { job = std::make_unique<MpiCollective>(1); }
  void TearDown() override {
    job->close();
    job.reset();
  }
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new Job);

MpiCollective& make_one_to_break() {
  return *broken.emplace_back(std::make_unique<MpiCollective>(1));
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MpiCollective, IsOneOfSeveralProcesses) {
  EXPECT_GT(job->size(), 1) << "start it by mpirun";
  EXPECT_EQ(job->local_rank(), job->rank()) << "all are on this machine";
  EXPECT_THAT(job->describe(), HasSubstr("MPI"));
}

TEST(MpiCollective, GathersAndBroadcastsTexts) {
  testing::expect_texts(*job);
}

TEST(MpiCollective, ExchangesWhatEachHasForEach) {
  testing::expect_blocks(*job);
}

TEST(MpiCollective, SumsHaveTheBitsOfTheTree) {
  for (const std::int64_t leaves : {1, 3, 4, 7}) {
    testing::expect_sum(*job, leaves, testing::expected_sum<float>(0, leaves, 1001));
    testing::expect_sum(*job, leaves, testing::expected_sum<double>(0, leaves, 2));
  }
  testing::expect_sum(*job, 3, testing::expected_sum<float>(0, 3, 400'003));
}

TEST(MpiCollective, CheckLeavesWhatIsSentToBeReceived) {
  job->check();
  const std::string text = job->broadcast_text(job->rank() == 1 ? "ahead" : "", 1);
  for (int i = 0; i < 3; ++i) job->check();
  EXPECT_EQ(text, "ahead");
}

TEST(MpiCollective, WhoGivesUpTellsTheOthersWhy) {
  MpiCollective& mine = make_one_to_break();
  if (mine.rank() == 1) {
    mine.abort(core::ErrorCode::kIo, "the disk is full");
    EXPECT_THAT(error_of([&] { mine.barrier(); }), HasSubstr("this process has given up"));
  } else {
    const std::string error = error_of([&] { mine.barrier(); });
    EXPECT_THAT(error, AllOf(HasSubstr("rank 1 ("), HasSubstr("gave up: the disk is full")));
    EXPECT_EQ(error_of([&] { mine.barrier(); }), error) << "an error stays";
    EXPECT_EQ(error_of([&] { mine.check(); }), error);
  }
  job->barrier();
}

/// Too many bytes are an error of MPI's own, and too few would be none.
TEST(MpiCollective, ProcessesThatDoNotDoTheSameAreTold) {
  MpiCollective& mine = make_one_to_break();
  const std::string error = error_of([&] { testing::exchange_other_lengths(mine); });
  if (mine.rank() == 0) {
    EXPECT_THAT(error, HasSubstr("the processes do not do the same"));
  } else {
    EXPECT_THAT(error, AllOf(HasSubstr("rank 0 ("), HasSubstr("sends 5 bytes, where 6 are expected")));
  }
  job->barrier();
}

TEST(MpiCollective, ALauncherOfAnotherMpiIsNoticed) {
  EXPECT_THAT(error_of([] { MpiCollective(job->size() + 1); }), HasSubstr("the launcher belongs to another MPI"));
  job->barrier();
}

}  // namespace
}  // namespace dragoman::collective::mpi
