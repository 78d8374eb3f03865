// Runs that are continued: after a stop, with more updates, with another recipe, from damaged or full disks.
#include "file_size_limit.h"
#include "trainer_fixture.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StopAt;
using testing::train;
using testing::TrainerOn;

/// What a run is made of may change what has to be restored.
struct Variant {
  const char* name;
  std::vector<std::string> assignments;
};

class ResumedTraining : public TrainerOn {};

class ResumedRun : public TrainerOn, public ::testing::WithParamInterface<Variant> {};

TEST_P(ResumedRun, EqualsTheUninterruptedOne) {
  std::vector<std::string> assignments = GetParam().assignments;
  assignments.push_back(output("whole"));
  train(task_.config(assignments));
  const std::string whole = task_.checkpoint_bytes("whole", 24);
  ASSERT_FALSE(whole.empty());
  for (const std::uint64_t update : {1, 6, 7, 13, 23}) {
    const std::string run = "stopped" + std::to_string(update);
    assignments.back() = output(run);
    StopAt stop(update);
    try {
      train(task_.config(assignments), StartMode::kFresh, stop.source.get_token(), stop.environment);
      FAIL() << "was not interrupted";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted);
      EXPECT_THAT(error.what(), HasSubstr("checkpoint-" + std::to_string(update)));
    }
    const TrainingSummary summary = train(task_.config(assignments), StartMode::kResume);
    EXPECT_EQ(summary.updates, 24);
    EXPECT_EQ(task_.checkpoint_bytes(run, 24), whole) << "interrupted after update " << update;
    EXPECT_EQ(metrics(run), metrics("whole")) << "interrupted after update " << update;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, ResumedRun,
    ::testing::Values(Variant{"plain", {}}, Variant{"accumulating", {"training.accumulate=3"}},
                      Variant{"averaging", {"training.ema_decay=0.9", "validation.every=6", "checkpoint.average=2"}},
                      Variant{"bpe_dropout", {"data.bpe_dropout=0.3", "training.schedule.type=noam"}},
                      Variant{"layer_drop",
                              {"model.dropout.layer=0.5", "model.encoder_layers=3", "training.accumulate=2"}},
                      Variant{"tied_layers", {"model.encoder_layers=2", "model.encoder_tied_layers=[0, 0]"}},
                      Variant{"bf16", {"training.compute=bf16"}},
                      Variant{"adafactor", {"training.optimizer.type=adafactor", "training.ema_decay=0.9"}},
                      Variant{"lion", {"training.optimizer.type=lion", "training.schedule.learning_rate=0.001"}},
                      Variant{"sgd", {"training.optimizer={type: sgd, momentum: 0.9, nesterov: true}"}},
                      Variant{"plateau",
                              {"training.schedule.type=plateau", "training.schedule.plateau={patience: 0, cooldown: 1}",
                               "training.schedule.warmup=2", "validation.every=2", "validation.metrics=[]"}},
                      Variant{"r_drop", {"training.r_drop=2", "training.accumulate=2"}},
                      Variant{"word_dropout", {"training.word_dropout={source: 0.2, target: 0.1}"}},
                      Variant{"two_threads", {"threads=2", "validation.every=6"}},
                      Variant{"sampling", {"validation.every=epoch", "validation.samples={first: 1, random: 2}"}}),
    [](const auto& variant) { return variant.param.name; });

TEST_F(ResumedTraining, AContinuedRunEqualsALongerOne) {
  train(task_.config({output("whole"), "training.updates=30", "validation.every=10"}));
  train(task_.config({output("extended"), "training.updates=17", "validation.every=10"}));
  train(task_.config({output("extended"), "training.updates=30", "validation.every=10"}), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("extended", 30), task_.checkpoint_bytes("whole", 30));
  EXPECT_EQ(metrics("extended"), metrics("whole"));
}

TEST_F(ResumedTraining, AStopDuringValidationValidatesAgainOnResume) {
  train(task_.config({output("whole"), "validation.every=6"}));
  std::stop_source stop;
  TrainerEnvironment environment = make_environment(testing::host());
  std::uint64_t update = 0;
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage == "train") update = progress.done;
    if (progress.stage == "validate" && update == 12) stop.request_stop();
  };
  const auto config = task_.config({output("stopped"), "validation.every=6"});
  EXPECT_THAT(error_of([&] { train(config, StartMode::kFresh, stop.get_token(), environment); }),
              HasSubstr("after update 12"));
  train(config, StartMode::kResume);
  EXPECT_EQ(metrics("stopped"), metrics("whole"));
}

TEST_F(ResumedTraining, AChangedRecipeIsRefusedUnlessForked) {
  train(task_.config({"training.updates=8"}));
  const auto changed = task_.config({"training.label_smoothing=0.2", "training.updates=9"});
  EXPECT_THAT(error_of([&] { train(changed, StartMode::kResume); }),
              AllOf(HasSubstr("training.label_smoothing"), HasSubstr("0.1"), HasSubstr("0.2"), HasSubstr("`fork`")));
  EXPECT_THAT(error_of([&] { train(task_.config({"model.norm=post"}), StartMode::kResume); }), HasSubstr("model.norm"));
  std::vector<std::string> warnings;
  TrainerEnvironment environment = make_environment(testing::host());
  environment.log = [&](core::LogLevel level, std::string_view message) {
    if (level == core::LogLevel::kWarning) warnings.emplace_back(message);
  };
  EXPECT_EQ(train(changed, StartMode::kFork, {}, environment).updates, 9);
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.front(), HasSubstr("training.label_smoothing"));
}

TEST_F(ResumedTraining, WritingOutADefaultIsNoChange) {
  train(task_.config({"training.updates=8"}));
  EXPECT_EQ(
      train(task_.config({"training.updates=9", "model.norm=pre", "model.tying=all"}), StartMode::kResume).updates, 9);
}

TEST_F(ResumedTraining, ChangedDataAreRefused) {
  train(task_.config({"training.updates=8"}));
  std::ofstream(task_.file("train.source"), std::ios::app) << "a b\n";
  std::ofstream(task_.file("train.target"), std::ios::app) << "b a\n";
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              AllOf(HasSubstr("data"), HasSubstr("train")));
}

TEST_F(ResumedTraining, StartModesMustFitTheFolder) {
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }), HasSubstr("no checkpoint"));
  train(task_.config({"training.updates=8"}));
  EXPECT_THAT(error_of([&] { train(task_.config()); }), HasSubstr("`resume`"));
}

TEST_F(ResumedTraining, ADamagedCheckpointFallsBackToTheOneBefore) {
  train(task_.config({output("whole")}));
  train(task_.config({"training.updates=20"}));
  // Checkpoints 14 and 20 are there; the newest loses its tail.
  const auto newest = task_.file("run") / "checkpoint-20/first_moment.safetensors";
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
  std::vector<std::string> warnings;
  TrainerEnvironment environment = make_environment(testing::host());
  environment.log = [&](core::LogLevel level, std::string_view message) {
    if (level == core::LogLevel::kWarning) warnings.emplace_back(message);
  };
  train(task_.config(), StartMode::kResume, {}, environment);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings[0], HasSubstr("first_moment.safetensors"));
  EXPECT_THAT(warnings[1], HasSubstr("checkpoint-20.damaged"));
  EXPECT_TRUE(std::filesystem::exists(task_.file("run") / "checkpoint-20.damaged/first_moment.safetensors"));
}

TEST_F(ResumedTraining, AFullDiskIsReportedAndTheLastCheckpointServes) {
  train(task_.config({output("whole")}));
  train(task_.config({"training.updates=7"}));
  {
    // There is room for the record of the run, which names paths, and none for weights.
    const auto room = std::filesystem::file_size(task_.file("run") / "run.json") + 2048;
    ASSERT_LT(room, std::filesystem::file_size(task_.file("run") / "checkpoint-7" / "model.safetensors"));
    const dragoman::testing::FileSizeLimit limit(room);
    EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
                AllOf(HasSubstr(".safetensors"), HasSubstr("cannot write")));
  }
  EXPECT_THAT(CheckpointStore(task_.file("run")).updates(), ::testing::ElementsAre(7));
  EXPECT_FALSE(std::filesystem::exists(task_.file("run") / "checkpoint-14.partial"));
  train(task_.config(), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
}

TEST_F(ResumedTraining, AStateBeyondTheDataIsRefused) {
  train(task_.config({"training.updates=9"}));
  const auto file = task_.file("run") / "checkpoint-9/state.json";
  core::Json state = core::load_json(file.string());
  state["batch"] = 100000;
  core::write_file(file, state.dump());
  formats::write_checksums(file.parent_path());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }), HasSubstr("batch 100000"));
}

}  // namespace
}  // namespace dragoman::training
