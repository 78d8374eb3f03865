#include "run/run_log.h"

#include "test_data.h"

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

}  // namespace
}  // namespace dragoman::training
