#include "../../models/collective/ranks.h"
#include "small_task.h"
#include "test_data.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

using collective::testing::run_ranks;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::SmallTask;

class ManyProcesses : public ::testing::Test {
 protected:
  std::vector<std::string> with_output(std::vector<std::string> assignments, const std::string& run) const {
    assignments.push_back("output=" + task_.file(run).string());
    return assignments;
  }

  /// Trains with as many processes, each a thread. `change` may make the
  /// configuration or environment of one differ. Returns what each threw.
  using Change = std::function<void(int rank, TrainingConfig&, TrainerEnvironment&)>;
  std::vector<std::string> train_with(int processes, const std::string& run,
                                      const std::vector<std::string>& assignments, StartMode mode = StartMode::kFresh,
                                      const std::stop_token& stop_of_last = {}, const Change& change = {}) const {
    return run_ranks(processes, [&](collective::Collective& ranks) {
      try {
        TrainingConfig config = task_.config(with_output(assignments, run));
        TrainerEnvironment environment = make_environment(testing::host());
        environment.ranks = &ranks;
        environment.bucket_values = 500;  // several buckets even here
        if (change) change(ranks.rank(), config, environment);
        const bool stops = ranks.rank() == processes - 1;
        Trainer trainer(config, environment, mode);
        trainer.run(stops ? stop_of_last : std::stop_token{});
      } catch (const core::Error& error) {
        ranks.abort(error.code(), error.what());
        throw;
      }
    });
  }

  /// All that a run leaves that does not depend on the time.
  std::string results(const std::string& run, std::int64_t update = 24) const {
    std::string bytes = task_.checkpoint_bytes(run, update);
    for (const char* model : {"best", "last"}) bytes += core::read_file(task_.file(run) / model / "model.safetensors");
    core::LineReader reader(task_.file(run) / "metrics.jsonl");
    for (std::string line; reader.next(line);) {
      core::Json json = core::parse_json(line, "metrics.jsonl");
      for (const char* time : {"seconds", "data_seconds"}) json.erase(time);
      bytes += json.dump() + "\n";
    }
    return bytes;
  }

  dragoman::testing::TemporaryFolder folder_;
  SmallTask task_{folder_.path(), 200};
};

struct Recipe {
  const char* name;
  std::vector<std::string> assignments;
};

class ManyProcessesWith : public ManyProcesses, public ::testing::WithParamInterface<Recipe> {};

/// The claim of it all: 1 x 4, 2 x 2, 4 x 1 micro-batches, and uneven shares, have the same bytes.
TEST_P(ManyProcessesWith, HaveTheBytesOfOne) {
  for (const int batches : {4, 6}) {
    std::vector<std::string> assignments = GetParam().assignments;
    if (std::string(GetParam().name) == "adapters") {  // of a model that there is
      if (batches == 4) testing::train(task_.config(with_output({"training.updates=3"}, "base")));
      assignments.push_back("model.from=" + task_.file("base/last").string());
    }
    if (std::string(GetParam().name) == "guided_alignment")
      assignments.push_back("data.train.alignment=" + task_.file("train.alignment").string());
    for (const std::string& more :
         {"training.accumulate=" + std::to_string(batches), std::string("training.updates=24"),
          std::string("validation.every=8"), std::string("training.epochs=100")})
      assignments.push_back(more);
    const std::string suffix = "-" + std::to_string(batches);
    testing::train(task_.config(with_output(assignments, "one" + suffix)));
    const std::string expected = results("one" + suffix);
    ASSERT_FALSE(expected.empty());
    for (const int processes : {1, 2, 3, 4}) {
      const std::string run = std::to_string(processes) + suffix;
      EXPECT_THAT(train_with(processes, run, assignments), Each(""));
      EXPECT_TRUE(results(run) == expected) << processes << " processes, " << batches << " batches an update";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, ManyProcessesWith,
    ::testing::Values(Recipe{"plain", {}}, Recipe{"averaging", {"training.ema_decay=0.9", "model.tying=source-target"}},
                      Recipe{"layer_drop", {"model.dropout.layer=0.5", "model.encoder_layers=3"}},
                      Recipe{"t5_like_tied", {"model.encoder_layers=2", "model.encoder_tied_layers=[0, 0]"}},
                      Recipe{"bf16", {"training.compute=bf16"}}, Recipe{"recomputing", {"training.recompute=true"}},
                      Recipe{"guided_alignment", {"training.recompute=true", "training.r_drop=1"}},
                      Recipe{"frozen", {"training.freeze=[\"encoder.*\"]"}},
                      Recipe{"adapters", {"training.lora.rank=2"}}, Recipe{"reference", {"device=reference"}}),
    [](const auto& variant) { return variant.param.name; });

/// The last update of an epoch may have fewer batches than there are processes.
TEST_F(ManyProcesses, MayOutnumberTheBatchesThatAreLeft) {
  const std::vector<std::string> assignments{"training.accumulate=4", "training.batch_tokens=400",
                                             "training.updates=9"};
  testing::train(task_.config(with_output(assignments, "one")));
  EXPECT_THAT(train_with(4, "four", assignments), Each(""));
  EXPECT_TRUE(results("four", 9) == results("one", 9));
}

/// A sentence whose embedding overflows comes once in each epoch, to one of the processes.
TEST_F(ManyProcesses, LeaveOutTheSameUpdates) {
  std::ofstream(task_.file("train.source"), std::ios::app) << "e e\n";
  std::ofstream(task_.file("train.target"), std::ios::app) << "a b\n";
  std::ofstream vectors(task_.file("vectors.txt"));
  vectors << "<unk>";
  for (int i = 0; i < 16; ++i) vectors << (i % 2 == 0 ? " 1e30" : " -1e30");
  vectors << std::endl;
  const std::vector<std::string> assignments{"training.accumulate=2",
                                             "training.on_non_finite=skip",
                                             "model.tying=none",
                                             "model.norm=post",
                                             "data.embeddings.source.file=" + task_.file("vectors.txt").string(),
                                             "data.embeddings.source.frozen=true"};
  testing::train(task_.config(with_output(assignments, "one")));
  EXPECT_THAT(train_with(2, "two", assignments), Each(""));
  EXPECT_TRUE(results("two") == results("one"));
  EXPECT_THAT(core::read_file(task_.file("two/metrics.jsonl")), HasSubstr("\"non_finite\""));
}

/// In the run's folder, where rank 0 makes them and the others find them; and each in one of its own, as on machines
/// that share none.
TEST_F(ManyProcesses, ShareBlocksOrHaveTheirOwn) {
  std::filesystem::create_directory(folder_.path() / "large");
  const SmallTask large(folder_.path() / "large", 20000);
  const std::vector<std::string> assignments{"training.accumulate=3", "data.memory=1MiB", "training.batch_tokens=800"};
  const auto on_blocks = [&](int, TrainingConfig& config, TrainerEnvironment&) {
    config.data.train = {{large.file("train.source").string()}, {large.file("train.target").string()}};
  };
  TrainingConfig alone = task_.config(with_output(assignments, "one"));
  TrainerEnvironment environment = make_environment(testing::host());
  on_blocks(0, alone, environment);
  testing::train(alone);
  ASSERT_TRUE(std::filesystem::exists(task_.file("one/blocks")));
  EXPECT_THAT(train_with(3, "three", assignments, StartMode::kFresh, {}, on_blocks), Each(""));
  EXPECT_TRUE(results("three") == results("one"));
  EXPECT_EQ(core::list_folder(task_.file("three/blocks")).size(), 1U);
  const auto apart = [&](int rank, TrainingConfig& config, TrainerEnvironment& other) {
    on_blocks(rank, config, other);
    config.data.cache = task_.file("cache" + std::to_string(rank % 2)).string();
  };
  EXPECT_THAT(train_with(3, "apart", assignments, StartMode::kFresh, {}, apart), Each(""));
  EXPECT_TRUE(results("apart") == results("one"));
  EXPECT_EQ(core::list_folder(task_.file("cache1")).size(), 1U);
}

TEST_F(ManyProcesses, GoOnWithAnotherNumber) {
  const std::vector<std::string> assignments{"training.accumulate=4", "validation.every=6", "training.ema_decay=0.9"};
  testing::train(task_.config(with_output(assignments, "whole")));
  std::vector<std::string> shorter = assignments;
  shorter.emplace_back("training.updates=5");
  EXPECT_THAT(train_with(2, "run", shorter), Each(""));
  shorter.back() = "training.updates=11";
  EXPECT_THAT(train_with(4, "run", shorter, StartMode::kResume), Each(""));
  shorter.back() = "training.updates=17";
  testing::train(task_.config(with_output(shorter, "run")), StartMode::kResume);
  EXPECT_THAT(train_with(3, "run", assignments, StartMode::kResume), Each(""));
  EXPECT_TRUE(task_.checkpoint_bytes("run", 24) == task_.checkpoint_bytes("whole", 24));
}

/// Asked of one that is not rank 0.
TEST_F(ManyProcesses, StopTogetherAfterACheckpoint) {
  const std::vector<std::string> assignments{"training.accumulate=3", "validation.every=5"};
  testing::train(task_.config(with_output(assignments, "whole")));
  std::stop_source stop;
  const auto errors = train_with(3, "run", assignments, StartMode::kFresh, stop.get_token(),
                                 [&](int rank, TrainingConfig&, TrainerEnvironment& environment) {
                                   if (rank != 2) return;
                                   environment.progress = [&](const core::Progress& progress) {
                                     if (progress.stage == "train" && progress.done == 9) stop.request_stop();
                                   };
                                 });
  EXPECT_THAT(errors[0], HasSubstr("training interrupted after update"));
  EXPECT_THAT(errors[1], HasSubstr("rank 0 has saved the state"));
  EXPECT_THAT(errors[2], HasSubstr("rank 0 has saved the state"));
  EXPECT_THAT(train_with(3, "run", assignments, StartMode::kResume), Each(""));
  EXPECT_TRUE(results("run") == results("whole"));
}

TEST_F(ManyProcesses, RefuseToTrainOtherwiseThanRankZero) {
  const std::vector<std::string> assignments{"training.accumulate=2"};
  const auto refusal = [&](const Change& change) {
    const auto errors = train_with(2, "refused", assignments, StartMode::kFresh, {}, change);
    EXPECT_THAT(errors[0], HasSubstr("rank 1 ("));
    EXPECT_FALSE(std::filesystem::exists(task_.file("refused/checkpoint-7")));
    EXPECT_EQ(errors[0], errors[1]);
    return errors[0];
  };
  EXPECT_THAT(refusal([](int rank, TrainingConfig& config, TrainerEnvironment&) {
                if (rank == 1) config.training.label_smoothing = 0.2;
              }),
              HasSubstr("training.label_smoothing is 0.2 and not 0.1"));
  EXPECT_THAT(refusal([](int rank, TrainingConfig& config, TrainerEnvironment&) {
                if (rank == 1) config.checkpoint.every = 3;
              }),
              HasSubstr("checkpoint.every"));
  EXPECT_THAT(refusal([](int rank, TrainingConfig&, TrainerEnvironment& environment) {
                if (rank == 1) environment.build["dragoman"] = "another version";
              }),
              HasSubstr("another version"));
  const std::filesystem::path other = task_.file("other.source");
  std::filesystem::copy_file(task_.file("train.source"), other);
  std::ofstream(other, std::ios::app) << "a b\n";
  std::filesystem::copy_file(task_.file("train.target"), task_.file("other.target"));
  std::ofstream(task_.file("other.target"), std::ios::app) << "b a\n";
  EXPECT_THAT(refusal([&](int rank, TrainingConfig& config, TrainerEnvironment&) {
                if (rank == 1) config.data.train = {{other.string()}, {task_.file("other.target").string()}};
              }),
              HasSubstr("content of the data.train"));
}

TEST_F(ManyProcesses, NeedABatchEach) {
  const auto errors = train_with(2, "run", {"training.accumulate=1"});
  EXPECT_THAT(errors,
              Each(AllOf(HasSubstr("training.accumulate is 1, but 2 processes train"), HasSubstr("a multiple of 2"))));
}

/// What goes wrong on rank 0 alone, which writes, ends all with its words, and the checkpoint stays.
TEST_F(ManyProcesses, EndWhenOneFails) {
  const std::vector<std::string> assignments{"training.accumulate=2", "checkpoint.every=4"};
  const auto errors = train_with(2, "run", assignments, StartMode::kFresh, {},
                                 [&](int rank, TrainingConfig&, TrainerEnvironment& environment) {
                                   if (rank != 0) return;
                                   environment.progress = [](const core::Progress& progress) {
                                     if (progress.stage == "train" && progress.done == 6)
                                       core::fail(core::ErrorCode::kIo, "planted failure");
                                   };
                                 });
  EXPECT_EQ(errors[0], "planted failure");
  EXPECT_THAT(errors[1], AllOf(HasSubstr("rank 0 ("), HasSubstr("gave up: planted failure")));
  EXPECT_TRUE(std::filesystem::exists(task_.file("run/checkpoint-4")));
  EXPECT_THAT(train_with(2, "run", assignments, StartMode::kResume), Each(""));
}

/// In the middle of an update, beside the thread that sums gradients.
TEST_F(ManyProcesses, EndWhenOneFailsWithinAnUpdate) {
  const auto errors = run_ranks(2, [&](collective::Collective& ranks) {
    TrainingConfig config = task_.config(with_output({"training.accumulate=2"}, "run"));
    TrainerEnvironment environment = make_environment(testing::host());
    environment.ranks = &ranks;
    environment.bucket_values = 500;
    Trainer trainer(config, environment, StartMode::kFresh);
    if (ranks.rank() == 1) core::fail(core::ErrorCode::kInternal, "gone before its first update");
    trainer.run();
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1 ("), HasSubstr("has ended without closing the job")));
}

}  // namespace
}  // namespace dragoman::training
