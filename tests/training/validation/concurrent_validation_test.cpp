#include "small_task.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::SmallTask;
using testing::StopAt;
using testing::train;

/// validation.threads: training goes on while a validation runs. What it must not change is compared with runs that
/// wait (threads: 0), and what depends on it must not depend on how fast a validation is, or on interruptions.
class ConcurrentValidationRun : public ::testing::Test {
 protected:
  TrainingConfig config(const std::string& run, std::vector<std::string> assignments = {}) const {
    assignments.insert(assignments.begin(), {"validation.every=5", "output=" + task_.file(run).string()});
    return task_.config(assignments);
  }
  TrainingConfig concurrent(const std::string& run, std::vector<std::string> assignments = {}) const {
    assignments.insert(assignments.begin(), "validation.threads=2");
    return config(run, assignments);
  }
  std::string text(const std::string& run, const std::string& file) const {
    return core::read_file(task_.file(run) / file);
  }
  /// Lines of metrics.jsonl of validations and their samples, by update, in the order in which they stand.
  std::vector<core::Json> validations(const std::string& run) const {
    std::vector<core::Json> found;
    const std::string all = text(run, "metrics.jsonl");
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t end = all.find('\n', begin);
      core::Json line = core::parse_json(all.substr(begin, end - begin), "metrics.jsonl");
      if (line["type"] != "training") found.push_back(std::move(line));
      begin = end + 1;
    }
    return found;
  }
  /// Interrupted when so many updates are done, again and again, and resumed until it ends.
  static void train_in_parts(const TrainingConfig& config, const std::vector<std::uint64_t>& stops) {
    StartMode mode = StartMode::kFresh;
    for (const std::uint64_t update : stops) {
      StopAt stop(update);
      try {
        train(config, mode, stop.source.get_token(), stop.environment);
        return;
      } catch (const core::Error& error) {
        ASSERT_EQ(error.code(), core::ErrorCode::kInterrupted) << error.what();
      }
      mode = StartMode::kResume;
    }
    train(config, mode);
  }

  dragoman::testing::TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

TEST_F(ConcurrentValidationRun, TrainsAndFindsWhatARunThatWaitsDoes) {
  const std::vector<std::string> recipe = {"validation.samples={first: 1, random: 2}", "validation.metrics=[bleu, ter]",
                                           "training.ema_decay=0.9"};
  const TrainingSummary waited = train(config("waits", recipe));
  const TrainingSummary summary = train(concurrent("goes_on", recipe));
  EXPECT_EQ(task_.checkpoint_bytes("goes_on", 24), task_.checkpoint_bytes("waits", 24));
  EXPECT_EQ(validations("goes_on"), validations("waits"));
  ASSERT_EQ(validations("goes_on").size(), 5 * 4) << "after 5, 10, 15, 20 and 24 updates, each with its samples";
  for (const char* file : {"best/model.safetensors", "last/model.safetensors", "validation/best.txt"})
    EXPECT_EQ(text("goes_on", file), text("waits", file)) << file;
  ASSERT_TRUE(summary.best && waited.best);
  EXPECT_EQ(summary.best->update, waited.best->update);
  EXPECT_EQ(summary.best->value, waited.best->value);
}

TEST_F(ConcurrentValidationRun, AveragesTheBestStatesThoughTheyAreKnownLate) {
  const std::vector<std::string> recipe = {"checkpoint.average=2", "checkpoint.every=9", "checkpoint.keep=1",
                                           "validation.metric=loss"};
  train(config("waits", recipe));
  train(concurrent("goes_on", recipe));
  EXPECT_EQ(text("goes_on", "average/model.safetensors"), text("waits", "average/model.safetensors"));
  train_in_parts(concurrent("in_parts", recipe), {6, 11, 12, 21});
  EXPECT_EQ(text("in_parts", "average/model.safetensors"), text("waits", "average/model.safetensors"));
}

TEST_F(ConcurrentValidationRun, AnInterruptionAtAnyUpdateChangesNothing) {
  const TrainingConfig whole = concurrent("whole");
  train(whole);
  for (const std::uint64_t update : {1, 4, 5, 6, 10, 14, 20, 23}) {
    const std::string run = "run" + std::to_string(update);
    train_in_parts(concurrent(run), {update});
    EXPECT_EQ(task_.checkpoint_bytes(run, 24), task_.checkpoint_bytes("whole", 24)) << update;
    EXPECT_EQ(validations(run), validations("whole")) << update;
    EXPECT_EQ(text(run, "best/model.safetensors"), text("whole", "best/model.safetensors")) << update;
  }
}

/// What is found counts from the next validation on, however early it is known.
TEST_F(ConcurrentValidationRun, PatienceEndsItOneValidationLater) {
  // No update changes anything, so the first validation stays the best.
  const std::vector<std::string> recipe = {"validation.patience=2", "training.schedule.learning_rate=1e-30",
                                           "training.updates=60"};
  EXPECT_EQ(train(config("waits", recipe)).updates, 15);
  const TrainingSummary summary = train(concurrent("goes_on", recipe));
  EXPECT_EQ(summary.updates, 20);
  EXPECT_TRUE(summary.stopped_early);
  train_in_parts(concurrent("in_parts", recipe), {7, 16, 18, 19});
  EXPECT_EQ(task_.checkpoint_bytes("in_parts", 20), task_.checkpoint_bytes("goes_on", 20));
  EXPECT_EQ(validations("in_parts"), validations("goes_on"));
  // It has come to its end, so nothing is left to do.
  EXPECT_EQ(train(concurrent("in_parts", recipe), StartMode::kResume).updates, 20);
}

TEST_F(ConcurrentValidationRun, AFailureEndsTrainingBehindACheckpointAndIsMadeGood) {
  const std::string broken =
      "validation.metrics=[bleu, {name: m, command: 'cat {hypotheses}; exit 7', on_failure: stop}]";
  const std::string sound =
      "validation.metrics=[bleu, {name: m, command: 'cat {hypotheses}; echo 1', on_failure: stop}]";
  try {
    train(concurrent("run", {broken, "checkpoint.every=0"}));
    FAIL() << "training went on";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("7"));
  }
  const std::vector<std::int64_t> saved = CheckpointStore(task_.file("run")).updates();
  ASSERT_FALSE(saved.empty());
  EXPECT_GE(saved.back(), 5);
  train(concurrent("run", {sound, "checkpoint.every=0"}), StartMode::kResume);
  train(concurrent("whole", {sound, "checkpoint.every=0"}));
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
}

TEST_F(ConcurrentValidationRun, ABestModelThatCouldNotBeWrittenIsMadeLater) {
  TrainerEnvironment environment = make_environment(testing::host());
  const std::filesystem::path best = task_.file("run") / "best";
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage != "train" || progress.done != 3) return;
    std::filesystem::create_directories(best);
    core::write_file(best / "thesis.tex", "years of work");
  };
  EXPECT_THROW(train(concurrent("run"), StartMode::kFresh, {}, environment), core::Error);
  EXPECT_TRUE(std::filesystem::exists(task_.file("run") / "best-owed.safetensors"));
  std::filesystem::remove(best / "thesis.tex");
  train(concurrent("run"), StartMode::kResume);
  train(config("whole"));
  EXPECT_EQ(text("run", "best/model.safetensors"), text("whole", "best/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(task_.file("run") / "best-owed.safetensors"));
}

TEST_F(ConcurrentValidationRun, ABetterModelThatCouldNotBeWrittenReplacesAnEarlierOneLater) {
  TrainerEnvironment environment = make_environment(testing::host());
  const std::filesystem::path best = task_.file("run") / "best";
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage == "train" && std::filesystem::exists(best / "model.safetensors"))
      core::write_file(best / "thesis.tex", "years of work");
  };
  EXPECT_THROW(train(concurrent("run"), StartMode::kFresh, {}, environment), core::Error);
  const std::string earlier = text("run", "best/model.safetensors");
  const std::filesystem::path owed = task_.file("run") / "best-owed.safetensors";
  ASSERT_TRUE(std::filesystem::exists(owed));
  const std::string left = core::read_file(owed);
  std::filesystem::remove(best / "thesis.tex");
  train(concurrent("run"), StartMode::kResume);
  train(config("whole"));
  EXPECT_NE(text("run", "best/model.safetensors"), earlier);
  EXPECT_EQ(text("run", "best/model.safetensors"), text("whole", "best/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(owed));
  // One that is left of an earlier best model changes nothing.
  std::string other = left;
  other.replace(other.find("\"update\":\"") + 10, 1, "9");
  core::write_file(owed, other);
  train(concurrent("run"), StartMode::kResume);
  EXPECT_EQ(text("run", "best/model.safetensors"), text("whole", "best/model.safetensors"));
}

TEST_F(ConcurrentValidationRun, GoesWithNothingThatFollowsFromValidations) {
  const auto error = [&](const std::vector<std::string>& assignments) {
    try {
      concurrent("run", assignments);
    } catch (const core::Error& found) {
      return std::string(found.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error({"training.schedule={type: plateau, learning_rate: 0.01}"}),
              AllOf(HasSubstr("plateau"), HasSubstr("leave out validation.threads")));
  EXPECT_THAT(error({"validation.every=0"}), HasSubstr("validation.threads needs"));
}

}  // namespace
}  // namespace dragoman::training
