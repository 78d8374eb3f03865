// Damage in the folder of a run, and runs of older versions.
#include "self_contained_run.h"
#include "test_names.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SelfContainedRun;
using testing::train;

class DamagedRun : public SelfContainedRun {};

TEST_F(DamagedRun, AChangedRecordIsRefused) {
  stop_at(9);
  const fs::path file = task_.file("run") / "run.json";
  core::Json record = core::load_json(file.string());
  record["configuration"]["training"]["label_smoothing"] = 0.25;
  core::write_file(file, record.dump());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              AllOf(HasSubstr("run.json"), HasSubstr("sha256.configuration")));
  record["format_version"] = 3;
  core::write_file(file, record.dump());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              HasSubstr("this program reads 1 to 2; use the program that wrote it"));
  record.erase("format_version");
  core::write_file(file, record.dump());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              HasSubstr("is not the record of a training run"));
}

TEST_F(DamagedRun, ALogThatWasLostIsNoReasonToRefuse) {
  train(task_.config({output("whole")}));
  stop_at(9);
  fs::remove(task_.file("run") / "metrics.jsonl");
  train(task_.config(), StartMode::kResume, {}, listening());
  EXPECT_THAT(warnings_, ::testing::Contains(AllOf(HasSubstr("metrics.jsonl"), HasSubstr("has 0 lines"))));
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
  // Updates 12, 16, 20 and 24, and the validation at the end.
  EXPECT_EQ(std::ranges::count(core::read_file(task_.file("run") / "metrics.jsonl"), '\n'), 5);
}

class FlippedBit : public SelfContainedRun, public ::testing::WithParamInterface<const char*> {};

TEST_P(FlippedBit, IsNamedAndNothingIsDeleted) {
  train(task_.config({output("whole"), "training.ema_decay=0.9"}));
  train(task_.config({"training.updates=20", "training.ema_decay=0.9"}));
  const fs::path damaged = task_.file("run") / "checkpoint-20" / GetParam();
  std::string bytes = core::read_file(damaged);
  bytes[bytes.size() - 2] ^= 1;
  core::write_file(damaged, bytes);
  train(task_.config({"training.ema_decay=0.9"}), StartMode::kResume, {}, listening());
  ASSERT_EQ(warnings_.size(), 2U);
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr(GetParam()), HasSubstr("falling back")));
  EXPECT_EQ(core::read_file(task_.file("run") / "checkpoint-20.damaged" / GetParam()), bytes);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
}

INSTANTIATE_TEST_SUITE_P(Files, FlippedBit,
                         ::testing::Values("model.safetensors", "first_moment.safetensors", "second_moment.safetensors",
                                           "average.safetensors", "state.json", "SHA256SUMS"),
                         dragoman::testing::kParameterName);

TEST_F(DamagedRun, AMissingFileOfACheckpointIsDamage) {
  for (const char* file : {"model.safetensors", "state.json", "SHA256SUMS"}) {
    const std::string run = std::string("without_") + file;
    train(task_.config({output(run), "training.updates=20"}));
    fs::remove(task_.file(run) / "checkpoint-20" / file);
    EXPECT_EQ(train(task_.config({output(run)}), StartMode::kResume).updates, 24);
    EXPECT_TRUE(fs::exists(task_.file(run) / "checkpoint-20.damaged"));
  }
}

TEST_F(DamagedRun, OnlyDamageFallsBack) {
  train(task_.config({"training.updates=20"}));
  const auto before = content("run");
  EXPECT_THAT(error_of([&] { train(task_.config({"model.d_model=32"}), StartMode::kFork); }),
              HasSubstr("the configured model has"));
  EXPECT_EQ(content("run"), before) << "a model that does not fit is no damage";
  const fs::path state = task_.file("run") / "checkpoint-20/state.json";
  core::Json json = core::load_json(state.string());
  json["format_version"] = 4;
  core::write_file(state, json.dump());
  formats::write_checksums(state.parent_path());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }), HasSubstr("this program reads 1 to 3"));
  EXPECT_THAT(CheckpointStore(task_.file("run")).updates(), ::testing::ElementsAre(14, 20)) << "nor is a newer program";
}

TEST_F(DamagedRun, IfNoCheckpointIsSoundNothingIsRenamed) {
  train(task_.config({"training.updates=20"}));
  for (const char* name : {"checkpoint-14", "checkpoint-20"})
    core::write_file(task_.file("run") / name / "model.safetensors", "rubbish");
  const auto before = content("run");
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }), HasSubstr("checkpoint-14/SHA256SUMS"));
  EXPECT_EQ(content("run"), before);
}

/// Copies with the names of later updates took the places of all that training saved.
TEST_F(DamagedRun, ACheckpointOfAnotherUpdateThanItsNameIsSetAside) {
  train(task_.config({output("whole")}));
  train(task_.config({"training.updates=20"}));
  const fs::path run = task_.file("run");
  for (const char* copy : {"checkpoint-1000000", "checkpoint-2000000"})
    fs::copy(run / "checkpoint-20", run / copy, fs::copy_options::recursive);
  train(task_.config(), StartMode::kFork, {}, listening());
  EXPECT_THAT(warnings_, ::testing::Contains(AllOf(HasSubstr("checkpoint-2000000"), HasSubstr("update is 20"),
                                                   HasSubstr("falling back"))));
  EXPECT_TRUE(fs::exists(run / "checkpoint-1000000.damaged/model.safetensors"));
  EXPECT_TRUE(fs::exists(run / "checkpoint-2000000.damaged/model.safetensors"));
  EXPECT_EQ(CheckpointStore(run).updates().back(), 24);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
}

TEST_F(DamagedRun, AnOnlyCheckpointOfAnotherUpdateIsRefused) {
  train(task_.config({"training.updates=7"}));
  fs::rename(task_.file("run") / "checkpoint-7", task_.file("run") / "checkpoint-9");
  const auto before = content("run");
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              AllOf(HasSubstr("checkpoint-9"), HasSubstr("update is 7")));
  EXPECT_EQ(content("run"), before);
}

TEST_F(DamagedRun, CheckpointsThatVanishWhileResumingAreAnError) {
  train(task_.config({"training.updates=20"}));
  TrainerEnvironment environment = make_environment(testing::host());
  environment.progress = [&](const core::Progress&) {
    for (const char* name : {"checkpoint-14", "checkpoint-20"}) fs::remove_all(task_.file("run") / name);
  };
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume, {}, environment); }), HasSubstr("are gone now"));
}

TEST_F(DamagedRun, AFailedValidationLosesNoUpdate) {
  train(task_.config({output("whole"), "validation.every=5"}));
  TrainerEnvironment environment = make_environment(testing::host());
  std::uint64_t update = 0;
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage == "train") update = progress.done;
    if (progress.stage == "validate" && update == 10) throw std::bad_alloc();
  };
  const auto config = task_.config({"validation.every=5"});
  EXPECT_THROW(train(config, StartMode::kFresh, {}, environment), std::bad_alloc);
  EXPECT_EQ(CheckpointStore(config.output).updates().back(), 10) << "although none was due before 14";
  train(config, StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
  EXPECT_EQ(core::read_file(task_.file("run") / "best/model.safetensors"),
            core::read_file(task_.file("whole") / "best/model.safetensors"));
}

/// golden/run_v1 was written by the program before it copied tokenizers and wrote sums; its README says how.
class RunOfVersion1 : public SelfContainedRun {
 protected:
  RunOfVersion1() { fs::copy(dragoman::testing::golden_file("run_v1"), folder_ / "v1", fs::copy_options::recursive); }

  TrainingConfig config(const std::vector<std::string>& assignments = {}) const {
    const fs::path v1 = folder_ / "v1";
    core::Json tree = core::load_yaml((v1 / "train.yml").string());
    tree["output"] = (v1 / "run").string();
    tree["data"]["train"] = {{"source", (v1 / "train.source").string()}, {"target", (v1 / "train.target").string()}};
    tree["data"]["tokenizer"] = (v1 / "tokenizer.json").string();
    for (const std::string& assignment : assignments) core::set_option(tree, assignment);
    return read_training_config(tree, "train.yml");
  }
};

TEST_F(RunOfVersion1, IsResumedAndBroughtUpToDate) {
  const fs::path run = folder_ / "v1/run";
  ASSERT_EQ(core::load_json((run / "run.json").string())["format_version"], 1);
  ASSERT_FALSE(fs::exists(run / "tokenizer.json"));
  EXPECT_EQ(train(config(), StartMode::kResume, {}, listening()).updates, 12);
  EXPECT_EQ(core::load_json((run / "run.json").string())["format_version"], 2);
  EXPECT_EQ(core::read_file(run / "tokenizer.json"), core::read_file(folder_ / "v1/tokenizer.json"));
  EXPECT_EQ(open_checkpoint(run / "checkpoint-12").update, 12);
  EXPECT_TRUE(fs::exists(run / "checkpoint-12/SHA256SUMS"));
  EXPECT_EQ(std::ranges::count(core::read_file(run / "metrics.jsonl"), '\n'), 6) << "every second update";
}

TEST_F(RunOfVersion1, NeedsItsTokenizer) {
  reformat_tokenizer();
  fs::copy(task_.file("tokenizer.json"), folder_ / "v1/tokenizer.json", fs::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { train(config(), StartMode::kResume); }), HasSubstr("not the tokenizer"));
  fs::remove(folder_ / "v1/tokenizer.json");
  EXPECT_THAT(error_of([&] { train(config(), StartMode::kResume); }), HasSubstr("cannot open"));
}

TEST_F(RunOfVersion1, FallsBackFromACheckpointThatIsCutShort) {
  const fs::path run = folder_ / "v1/run";
  ASSERT_THAT(CheckpointStore(run).updates(), ::testing::ElementsAre(6, 8));
  fs::resize_file(run / "checkpoint-8/model.safetensors", 1000);
  EXPECT_EQ(train(config(), StartMode::kResume, {}, listening()).updates, 12);
  EXPECT_TRUE(fs::exists(run / "checkpoint-8.damaged"));
}

}  // namespace
}  // namespace dragoman::training
