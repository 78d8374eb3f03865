#include "small_task.h"
#include "test_data.h"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace dragoman::training {
namespace {

using testing::SmallTask;

constexpr const char* kFolderVariable = "DRAGOMAN_TEST_KILLED_RUN";

std::vector<std::string> recipe(const std::filesystem::path& output) {
  return {"output=" + output.string(), "training.updates=40",    "checkpoint.every=3",
          "validation.every=5",        "training.ema_decay=0.9", "checkpoint.average=2"};
}

/// The body of the process that gets killed: trains in the folder that the environment names, from wherever it stands.
TEST(KilledRunChild, DISABLED_TrainsOn) {
  const char* folder = std::getenv(kFolderVariable);
  ASSERT_NE(folder, nullptr);
  const SmallTask task(folder, SmallTask::Existing{});
  const auto config = task.config(recipe(task.file("killed")));
  const bool started = !CheckpointStore(config.output).updates().empty();
  testing::train(config, started ? StartMode::kResume : StartMode::kFresh);
}

pid_t start_child(const std::filesystem::path& folder) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  // A fresh program image: a fork of this one would lack the threads that its libraries count on.
  ::setenv(kFolderVariable, folder.c_str(), 1);
  ::execl("/proc/self/exe", "tests", "--gtest_also_run_disabled_tests", "--gtest_filter=KilledRunChild.*",
          "--gtest_brief=1", nullptr);
  ::_exit(127);
}

/// Waits at most `limit`; true if the child ended by itself, and well.
bool ends_within(pid_t child, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

TEST(KilledRun, ResumedOftenEnoughEqualsTheUninterruptedOne) {
  const dragoman::testing::TemporaryFolder folder;
  const SmallTask task(folder.path());
  testing::train(task.config(recipe(task.file("whole"))));
  // Ever longer lives, of lengths that hit saves, validations, exports and updates at no particular moment.
  int kills = 0;
  for (auto life = std::chrono::milliseconds(40);; life += life / 4 + std::chrono::milliseconds(7)) {
    if (ends_within(start_child(folder.path()), life)) break;
    ++kills;
    ASSERT_LT(life, std::chrono::minutes(2)) << "the run does not end";
  }
  EXPECT_GE(kills, 1);
  EXPECT_EQ(task.checkpoint_bytes("killed", 40), task.checkpoint_bytes("whole", 40));
  for (const char* model : {"best", "last", "average"})
    EXPECT_EQ(core::read_file(task.file("killed") / model / "model.safetensors"),
              core::read_file(task.file("whole") / model / "model.safetensors"))
        << model;
}

}  // namespace
}  // namespace dragoman::training
