// The harness must notice what it is there for: a careful program passes, careless ones fail.
#include "fault.h"
#include "session.h"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

namespace dragoman::faults {
namespace {

namespace fs = std::filesystem;

class HarnessTest : public ::testing::Test {
 protected:
  HarnessTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::string name = (fs::temp_directory_path() / "dragoman-harness-XXXXXX").string();
    equipment_ = {.program = DRAGOMAN_COPIER,
                  .hooks = {},
                  .model = {},
                  .scratch = ::mkdtemp(name.data()),
                  .supervision = CallSupervisor::available()};
    fs::create_directories(equipment_.fixtures());
    std::string text;
    for (int i = 0; i < 30; ++i) text += "a line of a text that is to be copied\n";
    write_bytes(equipment_.fixtures() / "text", text);
    kinds_ = make_fault_kinds(equipment_);
  }
  ~HarnessTest() override { fs::remove_all(equipment_.scratch); }

  /// How many faults of a kind a copier with this carelessness fails.
  int failures(const std::string& kind, const std::string& carelessness, std::uint64_t rounds = 20) {
    Scenario scenario{
        .name = "copy", .command = "copy", .arguments = {"out/copy"}, .input = "text", .outputs = {{"copy"}}};
    if (!carelessness.empty()) scenario.arguments.push_back(carelessness);
    const Profile profile = measure(equipment_, scenario);
    const auto fault = std::ranges::find(kinds_, kind, &FaultKind::name);
    int failed = 0;
    for (std::uint64_t round = 0; round < rounds; ++round)
      failed += attempt(equipment_, {&scenario, &profile, &*fault, round}, 1).problems.empty() ? 0 : 1;
    return failed;
  }

  Equipment equipment_;
  std::vector<FaultKind> kinds_;
};

TEST_F(HarnessTest, ACarefulProgramPasses) {
  if (!equipment_.supervision) GTEST_SKIP() << "system calls cannot be supervised here";
  for (const char* kind :
       {"write-fails", "write-interrupted", "write-short", "read-fails", "read-interrupted", "read-short", "sync-fails",
        "rename-fails", "open-write-fails", "kill-at-write", "kill-at-change", "signal-term", "stdin-closed",
        "folder-missing", "folder-read-only", "stderr-closed"})
    EXPECT_EQ(failures(kind, ""), 0) << kind;
}

TEST_F(HarnessTest, CarelessProgramsFail) {
  if (!equipment_.supervision) GTEST_SKIP() << "system calls cannot be supervised here";
  EXPECT_GT(failures("write-fails", "ignores-errors"), 0) << "an incomplete result with status 0";
  EXPECT_GT(failures("write-short", "one-write"), 0) << "half of a buffer is lost";
  EXPECT_GT(failures("read-interrupted", "stops-when-interrupted"), 0) << "an interrupted read taken for the end";
  EXPECT_GT(failures("write-fails", "in-place"), 0) << "an earlier result destroyed";
  EXPECT_GT(failures("kill-at-write", "in-place"), 0) << "an earlier result destroyed";
  EXPECT_GT(failures("stdout-full", "wordy"), 0) << "standard output lost unnoticed";
  EXPECT_GT(failures("signal-term", "deaf", 3), 0) << "two seconds are over";
}

}  // namespace
}  // namespace dragoman::faults
