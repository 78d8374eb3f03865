#include "test_data.h"

#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/training/run_log.h>

namespace dragoman::training {
namespace {

TEST(RunLog, AppendsLinesThatAreReadableAtOnce) {
  const dragoman::testing::TemporaryFolder folder;
  RunLog log(folder / "metrics.jsonl", 0);
  log.append({{"update", 1}});
  log.append({{"update", 2}});
  EXPECT_EQ(log.lines(), 2U);
  EXPECT_EQ(core::read_file(folder / "metrics.jsonl"), "{\"update\":1}\n{\"update\":2}\n");
}

TEST(RunLog, IsCutBackToTheCheckpoint) {
  const dragoman::testing::TemporaryFolder folder;
  core::write_file(folder / "metrics.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":");
  RunLog log(folder / "metrics.jsonl", 2);
  log.append({{"b", 3}});
  EXPECT_EQ(core::read_file(folder / "metrics.jsonl"), "{\"a\":1}\n{\"a\":2}\n{\"b\":3}\n");
  EXPECT_EQ(log.lines(), 3U);
}

TEST(RunLog, RefusesAFileThatLostLines) {
  const dragoman::testing::TemporaryFolder folder;
  core::write_file(folder / "metrics.jsonl", "{}\n");
  EXPECT_THROW(RunLog(folder / "metrics.jsonl", 2), core::Error);
}

TEST(RunLog, AFullDiskIsAnError) {
  RunLog log("/dev/null", 0);
  EXPECT_NO_THROW(log.append({{"a", 1}}));
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  RunLog full("/dev/full", 0);
  EXPECT_THROW(full.append({{"a", 1}}), core::Error);
}

}  // namespace
}  // namespace dragoman::training
