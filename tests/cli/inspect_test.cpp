#include "program.h"

#include <sys/stat.h>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// On a copy of the run that tests/training keeps: eight updates, of which the last two are in a checkpoint.
class InspectTest : public ::testing::Test {
 protected:
  InspectTest() {
    std::filesystem::copy(source_folder() / "tests/training/golden/run_v1/run", folder_ / "run",
                          std::filesystem::copy_options::recursive);
  }

  Outcome inspect(const std::string& arguments) { return run_dragoman(folder_.path(), "inspect " + arguments); }
  core::Json object(const std::string& arguments) {
    const Outcome outcome = inspect(arguments + " --json");
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    return core::parse_json(outcome.output, arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(InspectTest, BrokenJsonIsToldWithLineAndColumn) {
  std::ofstream(folder_ / "broken.json") << "{\n\"model\": }";
  std::ofstream(folder_ / "run/run.json") << "{\n\"build\": }";
  for (const char* path : {"broken.json", "run"}) {
    const Outcome outcome = inspect(path);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, AllOf(HasSubstr(".json: not valid JSON: syntax error"), HasSubstr(" at line 2, column "),
                                     ::testing::Not(HasSubstr("json.exception"))));
  }
}

TEST_F(InspectTest, SaysHowFarARunIsOnOneScreen) {
  const Outcome outcome = inspect("run");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("run: training run\n"), HasSubstr("transformer\n"),
                    HasSubstr("after 8 updates and 2 whole epochs, of 8 updates\n"), HasSubstr("2.4756 at update 8\n"),
                    HasSubstr("checkpoint-6, checkpoint-8\n"), HasSubstr("last\n")));
  EXPECT_LT(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 24);
}

TEST_F(InspectTest, GivesEveryKindAsOneObject) {
  const core::Json run = object("run");
  EXPECT_EQ(run["kind"], "training run");
  EXPECT_EQ(run["state"]["update"], 8);
  EXPECT_EQ(run["last_training"]["update"], 8);
  EXPECT_TRUE(run["last_validation"].is_null());
  EXPECT_EQ(run["run"]["configuration"]["training"]["updates"], 8);
  const core::Json model = object("run/last --verify --tensors");
  EXPECT_EQ(model["kind"], "model folder");
  EXPECT_EQ(model["model"]["d_model"], 8);
  EXPECT_EQ(model["checksums"].size(), 4U);
  EXPECT_EQ(model["tokenizer"]["pieces"], model["sequences"]["source_vocabulary"]);
  EXPECT_EQ(model["weights"]["tensors"].size(), model["weights"]["tensor_count"]);
  const core::Json checkpoint = object("run/checkpoint-6");
  EXPECT_EQ(checkpoint["state"]["update"], 6);
  EXPECT_EQ(checkpoint["weights"]["parameters"], model["weights"]["parameters"]);
  EXPECT_EQ(object("run/last/model.safetensors")["bytes"],
            std::filesystem::file_size(folder_ / "run/last/model.safetensors"));
  EXPECT_EQ(object("run/last/tokenizer.json")["format"], "tokenizer-json");
}

TEST_F(InspectTest, ARunOfWhichPartsAreMissingOrTornIsStillShown) {
  std::filesystem::remove_all(folder_ / "run/checkpoint-8");
  std::ofstream(folder_ / "run/metrics.jsonl", std::ios::app) << "{\"type\":\"training\",\"upd";
  EXPECT_THAT(inspect("run").output, AllOf(HasSubstr("after 6 updates"), HasSubstr("at update 8\n")));
  std::filesystem::remove_all(folder_ / "run/checkpoint-6");
  std::filesystem::remove_all(folder_ / "run/last");
  std::filesystem::remove(folder_ / "run/metrics.jsonl");
  ASSERT_EQ(::mkfifo((folder_ / "run/metrics.jsonl").c_str(), 0600), 0);
  const Outcome empty = inspect("run");
  EXPECT_EQ(empty.status, 0) << empty.error;
  EXPECT_THAT(empty.output, HasSubstr("checkpoints             none\n"));
}

TEST_F(InspectTest, ADamagedCheckpointHidesNothingElse) {
  for (const char* aside : {"checkpoint-9.damaged", "checkpoint-9.damaged-2"}) {
    std::filesystem::copy(folder_ / "run/checkpoint-8", folder_ / "run" / aside);
    std::ofstream(folder_ / "run" / aside / "state.json") << "rubbish";
  }
  const core::Json run = object("run");
  EXPECT_EQ(run["state"]["update"], 8);
  EXPECT_EQ(run["checkpoints"], core::Json({"checkpoint-6", "checkpoint-8"}));
  EXPECT_EQ(run["damaged_checkpoints"], core::Json({"checkpoint-9.damaged", "checkpoint-9.damaged-2"}));
  std::ofstream(folder_ / "run/checkpoint-8/state.json") << "rubbish";
  const Outcome outcome = inspect("run");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(
      outcome.output,
      AllOf(HasSubstr("after 6 updates"), HasSubstr("last\n"),
            HasSubstr("checkpoint-9.damaged, checkpoint-9.damaged-2, checkpoint-8 (run/checkpoint-8/state.json: "
                      "not valid JSON")));
  EXPECT_EQ(object("run")["checkpoints"], core::Json({"checkpoint-6"}));
}

TEST_F(InspectTest, ARecordOfOtherTypesIsNoCrash) {
  for (const char* record : {"3", "[]", "{\"configuration\": 3}", "{\"configuration\": {\"data\": {\"train\": {}}}}",
                             "{\"configuration\": {\"training\": {\"updates\": \"many\"}}}"}) {
    std::ofstream(folder_ / "run/run.json") << record;
    std::ofstream(folder_ / "run/checkpoint-8/state.json")
        << "{\"update\": \"x\", \"early_stopping\": {\"ranking\": 1}}";
    EXPECT_EQ(inspect("run").status, 0) << record;
    EXPECT_EQ(inspect("run --json").status, 0) << record;
  }
}

TEST_F(InspectTest, FilesOfANewerProgramAreRefused) {
  struct Case {
    const char* file;
    std::vector<std::string> paths;
  };
  for (const Case& one : {Case{"run/run.json", {"run"}},
                          {"run/checkpoint-8/state.json", {"run", "run/checkpoint-8"}},
                          {"run/last/config.json", {"run/last"}}}) {
    core::Json json = core::load_json((folder_ / one.file).string());
    const core::Json before = json;
    for (const core::Json& version :
         {core::Json(99), core::Json(18446744073709551615U), core::Json(0), core::Json("2")}) {
      json["format_version"] = version;
      std::ofstream(folder_ / one.file) << json.dump();
      for (const std::string& path : one.paths) {
        const Outcome outcome = inspect(path);
        EXPECT_EQ(outcome.status, 1) << path << version;
        EXPECT_THAT(outcome.output, IsEmpty()) << path;
        EXPECT_THAT(outcome.error, AllOf(HasSubstr(one.file), HasSubstr("format_version"))) << path << version;
      }
    }
    std::ofstream(folder_ / one.file) << before.dump();
    EXPECT_EQ(inspect("run").status, 0) << one.file;
  }
}

TEST_F(InspectTest, WhatIsDamagedGivesAnErrorAndNotHalfAReport) {
  std::filesystem::resize_file(folder_ / "run/last/model.safetensors", 1000);
  for (const char* arguments : {"run/last", "run/last --json", "run/last/model.safetensors"}) {
    const Outcome outcome = inspect(arguments);
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_THAT(outcome.output, IsEmpty()) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr("model.safetensors")) << arguments;
  }
}

TEST_F(InspectTest, OptionsThatDoNotFitAreWrongUsage) {
  EXPECT_EQ(inspect("run --verify").status, 2);
  EXPECT_EQ(inspect("run/last --corpus run/run.json").status, 2);
  EXPECT_THAT(inspect("run/run.json").error, HasSubstr("inspect the folder that it stands in"));
}

TEST_F(InspectTest, RunsAnImportedModelAgainAndEndsWithAFaultThatItNames) {
  const std::string golden = in_source("tests/formats/golden/huggingface/bart");
  ASSERT_EQ(run_dragoman(folder_.path(), "convert " + golden + " --output bart").status, 0);
  const core::Json verified = object("bart --verify --compute int8");
  EXPECT_THAT(verified["reference"]["faults"], IsEmpty());
  EXPECT_THAT(verified["reference"]["computed_in"].get<std::string>(), HasSubstr("int8"));
  EXPECT_EQ(object(golden + " --verify")["reference"]["against"], "double precision");
  // A weight, and sums that vouch for it.
  const auto weights = folder_ / "bart/model.safetensors";
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(std::filesystem::file_size(weights)) - 4)
      .write("\0\0\x80\x3f", 4);
  EXPECT_THAT(inspect("bart --verify").error, HasSubstr("has the sum"));
  std::filesystem::remove(folder_ / "bart/SHA256SUMS");
  ASSERT_EQ(
      std::system(("cd " + (folder_ / "bart").string() + " && sha256sum * > ../sums && mv ../sums SHA256SUMS").c_str()),
      0);
  const Outcome changed = inspect("bart --verify");
  EXPECT_EQ(changed.status, 1);
  EXPECT_THAT(changed.error, HasSubstr("bart: is not what it was: 1 of 72 weights have other values"));
  EXPECT_THAT(changed.output, HasSubstr("changed weights         1 of 72"));
  EXPECT_EQ(inspect("bart --compute int8").status, 2);
}

}  // namespace
}  // namespace dragoman::testing
