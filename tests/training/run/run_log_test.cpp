#include "run/run_log.h"

#include "test_data.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

TEST(RunLog, AppendsLinesThatAreReadableAtOnce) {
  const dragoman::testing::TemporaryFolder folder;
  RunLog log(folder / "metrics.jsonl", 0, 0);
  log.append({{"update", 1}});
  log.append({{"update", 2}});
  EXPECT_EQ(log.lines(), 2U);
  EXPECT_EQ(core::read_file(folder / "metrics.jsonl"), "{\"update\":1}\n{\"update\":2}\n");
}

TEST(RunLog, IsCutBackToTheCheckpoint) {
  const dragoman::testing::TemporaryFolder folder;
  core::write_file(folder / "metrics.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":");
  RunLog log(folder / "metrics.jsonl", 2, 2);
  log.append({{"b", 3}});
  EXPECT_EQ(core::read_file(folder / "metrics.jsonl"), "{\"a\":1}\n{\"a\":2}\n{\"b\":3}\n");
  EXPECT_EQ(log.lines(), 3U);
}

// Row 10 of the faults that were found: a run whose log was lost could not be resumed.
TEST(RunLog, GoesOnWithWhatIsLeft) {
  const dragoman::testing::TemporaryFolder folder;
  const auto left = [&](std::uint64_t lines, std::int64_t update) {
    RunLog log(folder / "metrics.jsonl", lines, update);
    return std::pair(log.lines(), core::read_file(folder / "metrics.jsonl"));
  };
  EXPECT_EQ(left(2, 9), std::pair(std::uint64_t{0}, std::string())) << "there is no file";
  core::write_file(folder / "metrics.jsonl", "{\"update\":1}\n{\"upd");
  EXPECT_EQ(left(2, 9), std::pair(std::uint64_t{1}, std::string("{\"update\":1}\n"))) << "half a line is none";
  // Its beginning was cut off, so lines of later updates stand where earlier ones were.
  core::write_file(folder / "metrics.jsonl", "{\"update\":8}\nnot JSON\n{\"update\":10}\n");
  EXPECT_EQ(left(5, 9), std::pair(std::uint64_t{2}, std::string("{\"update\":8}\nnot JSON\n")));
}

TEST(RunLog, CountsWhatIsOfTheCheckpointsUpdateWhereverItStands) {
  const dragoman::testing::TemporaryFolder folder;
  // A concurrent validation of update 5 was done behind update 10.
  core::write_file(folder / "metrics.jsonl", "{\"update\":10}\n{\"update\":5}\n{\"update\":10}\n{\"update\":12}\n");
  EXPECT_EQ(RunLog(folder / "metrics.jsonl", 2, 10).kept_of_update(), 1U);
}

/// A log is a file of the run's own; the fault harness fills disks.
TEST(RunLog, ADeviceIsRefused) {
  EXPECT_THROW(RunLog("/dev/null", 0, 0), core::Error);
  const dragoman::testing::TemporaryFolder folder;
  std::filesystem::create_symlink(folder / "elsewhere", folder / "metrics.jsonl");
  EXPECT_THROW(RunLog(folder / "metrics.jsonl", 0, 0), core::Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

/// The folder may belong to somebody else, who puts a link in the place of the log between two system calls.
TEST(RunLog, ALinkThatTakesItsPlaceMeanwhileIsNotWrittenThrough) {
  const dragoman::testing::TemporaryFolder folder;
  const std::filesystem::path log = folder / "metrics.jsonl";
  core::write_file(folder / "elsewhere", "kept");
  std::atomic<bool> ended = false;
  std::jthread stranger([&] {
    for (std::error_code ignored; !ended;)
      if (std::filesystem::is_regular_file(std::filesystem::symlink_status(log, ignored))) {
        std::filesystem::create_symlink(folder / "elsewhere", folder / "link", ignored);
        std::filesystem::rename(folder / "link", log, ignored);
      }
  });
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    try {
      RunLog(log, 0, 0).append({{"update", i}});
    } catch (const core::Error&) {
      ++refused;
    }
    std::error_code ignored;
    std::filesystem::remove(log, ignored);
  }
  ended = true;
  EXPECT_EQ(core::read_file(folder / "elsewhere"), "kept");
  EXPECT_GT(refused, 0) << "the link never came in time";
}

}  // namespace
}  // namespace dragoman::training
