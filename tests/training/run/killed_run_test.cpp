#include "small_task.h"
#include "test_data.h"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/formats/checksums.h>

namespace dragoman::training {
namespace {

using testing::SmallTask;

constexpr const char* kFolderVariable = "DRAGOMAN_TEST_KILLED_RUN";

constexpr const char* kUpdatesVariable = "DRAGOMAN_TEST_KILLED_RUN_UPDATES";

std::vector<std::string> recipe(const std::filesystem::path& output, const std::string& updates = "40") {
  return {"output=" + output.string(), "training.updates=" + updates, "checkpoint.every=3",
          "validation.every=5",        "training.ema_decay=0.9",      "checkpoint.average=2"};
}

/// The body of the process that gets killed: trains in the folder that the environment names, from wherever it stands.
TEST(KilledRunChild, DISABLED_TrainsOn) {
  const char* folder = std::getenv(kFolderVariable);
  ASSERT_NE(folder, nullptr);
  const SmallTask task(folder, SmallTask::Existing{});
  const auto config = task.config(recipe(task.file("killed"), std::getenv(kUpdatesVariable)));
  const bool started = !CheckpointStore(config.output).updates().empty();
  testing::train(config, started ? StartMode::kResume : StartMode::kFresh);
}

pid_t start_child(const std::filesystem::path& folder, const char* updates = "40") {
  const pid_t child = ::fork();
  if (child != 0) return child;
  // A fresh program image: a fork of this one would lack the threads that its libraries count on.
  ::setenv(kFolderVariable, folder.c_str(), 1);
  ::setenv(kUpdatesVariable, updates, 1);
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

/// What bears its name is whole, at any moment.
void expect_whole(const std::filesystem::path& run) {
  const CheckpointStore store(run);
  for (const std::int64_t update : store.updates()) EXPECT_NO_THROW(open_checkpoint(store.path(update))) << update;
  for (const char* model : {"best", "last", "average"}) {
    if (!std::filesystem::exists(run / model)) continue;
    EXPECT_NO_THROW(formats::verify_checksums(run / model)) << model;
  }
}

TEST(KilledRun, ResumedOftenEnoughEqualsTheUninterruptedOne) {
  const dragoman::testing::TemporaryFolder folder;
  const SmallTask task(folder.path());
  testing::train(task.config(recipe(task.file("whole"))));
  // Ever longer lives, of random lengths that hit starts, saves, validations, exports and updates alike.
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int kills = 0;
  for (auto mean = std::chrono::milliseconds(40);; mean += mean / 8 + std::chrono::milliseconds(4)) {
    const std::chrono::milliseconds life(random() % (2 * mean.count()));
    if (ends_within(start_child(folder.path()), life)) break;
    ++kills;
    expect_whole(task.file("killed"));
    ASSERT_LT(mean, std::chrono::minutes(2)) << "the run does not end";
  }
  EXPECT_GE(kills, 1);
  EXPECT_EQ(task.checkpoint_bytes("killed", 40), task.checkpoint_bytes("whole", 40));
  for (const char* model : {"best", "last", "average"})
    EXPECT_EQ(core::read_file(task.file("killed") / model / "model.safetensors"),
              core::read_file(task.file("whole") / model / "model.safetensors"))
        << model;
}

// Row 7 of the faults that were found: a second trainer deleted the first one's half-written checkpoint.
TEST(TwoTrainers, TheSecondIsRefusedAndTheFirstGoesOn) {
  const dragoman::testing::TemporaryFolder folder;
  const SmallTask task(folder.path());
  const pid_t first = start_child(folder.path(), "1000000");
  const auto newest = [&] {
    const std::vector<std::int64_t> updates = CheckpointStore(task.file("killed")).updates();
    return updates.empty() ? -1 : updates.back();
  };
  while (newest() < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    for (const StartMode mode : {StartMode::kFresh, StartMode::kResume, StartMode::kFork}) {
      try {
        testing::train(task.config(recipe(task.file("killed"))), mode);
      } catch (const core::Error& error) {
        refused += std::string(error.what()).find("another process") != std::string::npos ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(refused, 60);
  const std::int64_t reached = newest();
  while (::waitpid(first, nullptr, WNOHANG) == 0 && newest() <= reached)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(newest(), reached) << "the first one has ended";
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
}

}  // namespace
}  // namespace dragoman::training
