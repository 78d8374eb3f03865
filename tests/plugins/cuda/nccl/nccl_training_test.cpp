#include "emulated_nccl.h"
#include "ranks.h"
#include "small_task.h"
#include "test_data.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Training on emulated devices: gradients that go from device to device have the bytes of those that go through the
// host's memory, and of one process that accumulates.
namespace dragoman::training {
namespace {

using collective::testing::run_ranks;
using dragoman::testing::EmulatedCuda;
using dragoman::testing::HiddenBackend;
using ::testing::Each;
using testing::SmallTask;

constexpr int kUpdates = 3;

class NcclTraining : public ::testing::TestWithParam<HiddenBackend::Steps> {
 protected:
  std::string checkpoint_of(const std::string& run) const { return task_.checkpoint_bytes(run, kUpdates); }

  TrainingConfig config(const std::string& run, int device, int batches, const std::string& more) const {
    std::vector<std::string> assignments{
        "output=" + task_.file(run).string(), "device=" + name_of(tensor::Device::of("cuda", device)),
        "training.updates=" + std::to_string(kUpdates), "training.accumulate=" + std::to_string(batches)};
    if (!more.empty()) assignments.push_back(more);
    return task_.config(assignments);
  }

  /// `processes` threads, each with a device of its own.
  std::vector<std::string> train(const std::string& run, int processes, int batches, bool linked,
                                 const std::string& more) const {
    const auto backend = std::make_shared<EmulatedCuda>("cuda", GetParam(), processes);
    plugins::Host host{plugins::HostOptions{}};
    host.runtime().add(backend);
    const std::string file = dragoman::testing::built("fake_nccl");
    const backend::cuda::NcclLoad load = backend::cuda::open_nccl(std::array{file.c_str()});
    return run_ranks(processes, [&](collective::Collective& ranks) {
      try {
        const auto links = linked ? dragoman::testing::make_emulated_links(load, file.c_str(), *backend,
                                                                           {.ranks = ranks, .device = ranks.rank()})
                                  : nullptr;
        TrainerEnvironment environment = make_environment(host);
        environment.ranks = &ranks;
        environment.links = links.get();
        environment.bucket_values = 100;  // several buckets even here
        Trainer(config(run, ranks.rank(), batches, more), environment, StartMode::kFresh).run();
      } catch (const core::Error& error) {
        ranks.abort(error.code(), error.what());
        throw;
      }
    });
  }

  dragoman::testing::TemporaryFolder folder_;
  SmallTask task_{folder_.path(), 40};
};
INSTANTIATE_TEST_SUITE_P(Steps, NcclTraining,
                         ::testing::Values(HiddenBackend::Steps::kRun, HiddenBackend::Steps::kReplay),
                         [](const auto& steps) {
                           return steps.param == HiddenBackend::Steps::kRun ? "run" : "replayed";
                         });

TEST_P(NcclTraining, HasTheBytesOfTheHostsWayAndOfOneProcess) {
  for (const int batches : {3, 4}) {
    const std::string suffix = std::to_string(batches);
    ASSERT_THAT(train("one" + suffix, 1, batches, false, ""), Each(""));
    const std::string expected = checkpoint_of("one" + suffix);
    ASSERT_FALSE(expected.empty());
    for (const int processes : {2, 3}) {
      if (batches == 4 && processes == 2) continue;  // as 3 of 3: one node each
      const std::string run = suffix + "-" + std::to_string(processes);
      EXPECT_THAT(train("linked" + run, processes, batches, true, ""), Each(""));
      EXPECT_TRUE(checkpoint_of("linked" + run) == expected) << processes << " linked, " << batches << " batches";
    }
  }
  EXPECT_THAT(train("host", 2, 3, false, ""), Each(""));
  EXPECT_TRUE(checkpoint_of("host") == checkpoint_of("one3"));
}

TEST_P(NcclTraining, OfHalvesHasTheBytesOfOneProcess) {
  ASSERT_THAT(train("one", 1, 2, false, "training.compute=bf16"), Each(""));
  EXPECT_THAT(train("linked", 2, 2, true, "training.compute=bf16"), Each(""));
  ASSERT_FALSE(checkpoint_of("one").empty());
  EXPECT_TRUE(checkpoint_of("linked") == checkpoint_of("one"));
}

}  // namespace
}  // namespace dragoman::training
