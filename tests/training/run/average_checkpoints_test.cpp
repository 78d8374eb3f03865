// average_checkpoints() against the folder `average` that a run writes itself.
#include "error_message.h"
#include "small_task.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/training/average_checkpoints.h>

namespace dragoman::training {
namespace {

using dragoman::testing::error_of;
using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SmallTask;

class AverageCheckpoints : public ::testing::Test {
 protected:
  /// A run with checkpoints after 8, 16 and 24 updates, of which the last two are averaged.
  void train(const std::string& run, std::vector<std::string> assignments = {}) const {
    for (const char* usual :
         {"checkpoint.every=8", "checkpoint.keep=3", "checkpoint.average=2", "checkpoint.average_of=last"})
      assignments.emplace_back(usual);
    assignments.push_back("output=" + task_.file(run).string());
    testing::train(task_.config(assignments));
  }
  std::filesystem::path checkpoint(const std::string& run, int update) const {
    return task_.file(run) / ("checkpoint-" + std::to_string(update));
  }
  void average(const std::vector<std::filesystem::path>& checkpoints, const std::string& output = "mean") const {
    average_checkpoints(checkpoints, task_.file(output), make_environment(testing::host()));
  }
  void expect_equals_average_of(const std::string& run) const {
    const std::filesystem::path expected = task_.file(run) / "average";
    formats::verify_checksums(task_.file("mean"));
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
      EXPECT_EQ(core::read_file(task_.file("mean") / name), core::read_file(expected / name)) << run << ": " << name;
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

TEST_F(AverageCheckpoints, GiveTheModelThatTheRunMakesOfThem) {
  const std::string from = "model={from: " + (task_.file("run0") / "last").string() + "}";
  const std::vector<std::vector<std::string>> recipes = {{},
                                                         {"training.ema_decay=0.9"},
                                                         {"training.ema_decay=0.9", "checkpoint.export=f16"},
                                                         {from, "training.lora.rank=2"},
                                                         {from, "training.lora.rank=2", "training.ema_decay=0.9"}};
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const std::string run = "run" + std::to_string(i);
    train(run, recipes[i]);
    average({checkpoint(run, 24), checkpoint(run, 16)});
    expect_equals_average_of(run);
  }
  // And not the mean of the parameters that updates change.
  EXPECT_NE(core::read_file(task_.file("run1/average/model.safetensors")),
            core::read_file(task_.file("run0/average/model.safetensors")));
  plugins::Host host;
  EXPECT_EQ(
      pipeline::Translator(pipeline::Model(task_.file("mean"), host)).translate(std::vector<std::string>{"a b"}).size(),
      1U);
}

TEST_F(AverageCheckpoints, NeedOnlyTheFolderOfTheRun) {
  train("run", {"training.ema_decay=0.9"});
  std::filesystem::rename(task_.file("run"), task_.file("moved"));
  core::write_file(task_.file("tokenizer.json"), "another file");
  for (const char* name : {"train.source", "train.target", "valid.source", "valid.target"})
    std::filesystem::remove(task_.file(name));
  average({checkpoint("moved", 16), checkpoint("moved", 24)});
  expect_equals_average_of("moved");
  const std::filesystem::path aside = task_.file("aside");
  std::filesystem::rename(checkpoint("moved", 24), aside);
  EXPECT_THAT(error_of([&] { average({aside}, "other"); }), AllOf(HasSubstr("aside"), HasSubstr("run.json")));
}

TEST_F(AverageCheckpoints, ReadTheNamedTokenizerIfTheCopyOfTheRunIsLost) {
  train("run");
  const std::string named = core::read_file(task_.file("tokenizer.json"));
  std::filesystem::remove(task_.file("run/tokenizer.json"));
  average({checkpoint("run", 16), checkpoint("run", 24)});
  expect_equals_average_of("run");

  const auto problem = [&] { return error_of([&] { average({checkpoint("run", 24)}, "other"); }); };
  core::write_file(task_.file("tokenizer.json"), named + "\n");
  EXPECT_THAT(problem(), AllOf(HasSubstr("not the tokenizer that the run began with"),
                               HasSubstr((task_.file("run/tokenizer.json")).string() + ", is lost or damaged"),
                               Not(HasSubstr("fork"))));
  std::filesystem::remove(task_.file("tokenizer.json"));
  EXPECT_THAT(problem(), HasSubstr("tokenizer.json is gone; restore either of them"));
  core::write_file(task_.file("tokenizer.json"), named);
  EXPECT_EQ(problem(), "no error");
}

TEST_F(AverageCheckpoints, MayBeNamedByLinks) {
  train("run");
  for (const int update : {16, 24})
    std::filesystem::create_directory_symlink(checkpoint("run", update), task_.file("link" + std::to_string(update)));
  average({task_.file("link24"), task_.file("link16")});
  expect_equals_average_of("run");
  // The run has the link, and the checkpoint is elsewhere.
  std::filesystem::rename(checkpoint("run", 24), task_.file("moved"));
  std::filesystem::create_directory_symlink(task_.file("moved"), checkpoint("run", 24));
  std::filesystem::remove_all(task_.file("mean"));
  average({checkpoint("run", 24), checkpoint("run", 16)});
  expect_equals_average_of("run");
}

TEST_F(AverageCheckpoints, NameThePartThatACheckpointLacks) {
  train("run");
  for (const char* part : {"state.json", "model.safetensors"}) {
    const std::filesystem::path file = checkpoint("run", 16) / part;
    const std::string content = core::read_file(file);
    std::filesystem::remove(file);
    ASSERT_TRUE(is_checkpoint(checkpoint("run", 16))) << part;
    EXPECT_THAT(error_of([&] { average({checkpoint("run", 16)}, "other"); }),
                AllOf(HasSubstr("checkpoint-16"), HasSubstr(part)));
    core::write_file(file, content);
  }
}

TEST_F(AverageCheckpoints, OfARunThatBeganWithAModel) {
  train("base");
  core::Json tree = task_.tree({"checkpoint.every=8", "checkpoint.keep=3", "checkpoint.average=2",
                                "checkpoint.average_of=last", "training.ema_decay=0.5"});
  tree["output"] = task_.file("tuned").string();
  tree["model"] = {{"from", (task_.file("base") / "last").string()}};
  tree["data"].erase("tokenizer");
  testing::train(read_training_config(tree, "tuned"));
  std::filesystem::remove_all(task_.file("base"));
  average({checkpoint("tuned", 16), checkpoint("tuned", 24)});
  expect_equals_average_of("tuned");
}

TEST_F(AverageCheckpoints, OfSeveralRunsNeedOneModel) {
  train("one");
  train("two", {"training.seed=7"});
  average({checkpoint("one", 24), checkpoint("two", 24)});
  const auto mean = formats::ModelFolder::open(task_.file("mean"));
  EXPECT_EQ(nn::to_json(mean.config().sequences),
            nn::to_json(formats::load_model_config(task_.file("one") / "last").sequences));

  train("wide", {"model.feed_forward=40"});
  EXPECT_THAT(error_of([&] {
                average({checkpoint("one", 24), checkpoint("wide", 24)});
              }),
              AllOf(HasSubstr("wide"), HasSubstr("feed_forward")));
  core::Json other = core::load_json(task_.file("tokenizer.json"));
  std::swap(other["model"]["vocab"]["a"], other["model"]["vocab"]["b"]);
  core::write_file(task_.file("tokenizer.json"), other.dump());
  train("other");
  EXPECT_THAT(error_of([&] {
                average({checkpoint("one", 24), checkpoint("other", 24)});
              }),
              AllOf(HasSubstr("other"), HasSubstr("tokenizers")));
}

TEST_F(AverageCheckpoints, RefuseDamage) {
  train("run", {"training.ema_decay=0.9"});
  const std::filesystem::path file = checkpoint("run", 16) / "average.safetensors";
  std::string bytes = core::read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  core::write_file(file, bytes);
  EXPECT_THAT(error_of([&] {
                average({checkpoint("run", 16), checkpoint("run", 24)});
              }),
              HasSubstr("average.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(task_.file("mean")));
  std::filesystem::create_directory(task_.file("mine"));
  core::write_file(task_.file("mine") / "notes.txt", "text");
  EXPECT_THAT(error_of([&] { average({checkpoint("run", 24)}, "mine"); }), HasSubstr("mine"));
  EXPECT_TRUE(is_checkpoint(checkpoint("run", 24)));
  EXPECT_FALSE(is_checkpoint(task_.file("run") / "last"));
}

TEST_F(AverageCheckpoints, NameTheCheckpointWhoseWeightsAreNotFinite) {
  train("run");
  const std::filesystem::path file = checkpoint("run", 16) / "model.safetensors";
  std::string bytes = core::read_file(file);
  bytes.replace(bytes.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));
  core::write_file(file, bytes);
  formats::write_checksums(checkpoint("run", 16));
  EXPECT_THAT(error_of([&] {
                average({checkpoint("run", 16), checkpoint("run", 24)});
              }),
              AllOf(HasSubstr("checkpoint-16/model.safetensors: "), HasSubstr(" is nan")));
  EXPECT_FALSE(std::filesystem::exists(task_.file("mean")));
}

}  // namespace
}  // namespace dragoman::training
