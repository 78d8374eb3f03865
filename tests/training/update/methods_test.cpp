#include "small_task.h"
#include "test_data.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallTask;
using testing::StopAt;
using testing::train;
using ::testing::UnorderedElementsAre;

class Methods : public ::testing::Test {
 protected:
  std::string output(const std::string& name) const { return "output=" + task_.file(name).string(); }

  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string refusal(const std::vector<std::string>& assignments) const {
    return error_of([&] { task_.config(assignments); });
  }

  std::vector<core::Json> lines_of(const std::string& run, const std::string& type) const {
    return task_.lines_of(run, type);
  }
  std::vector<std::string> states_of(const std::string& run, std::int64_t update) const {
    std::vector<std::string> names;
    const auto folder = task_.file(run) / ("checkpoint-" + std::to_string(update));
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().stem().string().ends_with("_moment")) names.push_back(entry.path().stem().string());
    return names;
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

TEST_F(Methods, EachOptimizerLearns) {
  const std::vector<std::vector<std::string>> recipes{
      {"training.optimizer.type=adam"},
      {"training.optimizer.type=adafactor", "training.schedule.learning_rate=0.05"},
      {"training.optimizer={type: adafactor, scale_parameter: false}"},
      {"training.optimizer.type=lion", "training.schedule.learning_rate=0.002"},
      {"training.optimizer={type: sgd, momentum: 0.9}", "training.schedule.learning_rate=0.3"}};
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    std::vector<std::string> assignments = recipes[i];
    assignments.insert(assignments.end(), {output("run" + std::to_string(i)), "training.updates=120",
                                           "training.batch_tokens=400", "training.label_smoothing=0",
                                           "model.dropout={embedding: 0, sub_layer: 0, activation: 0, "
                                           "attention: 0}",
                                           "validation.metrics=[]"});
    // Guessing among 12 pieces is a loss of 2.5.
    EXPECT_LT(train(task_.config(assignments)).training_loss, 1.6) << assignments[0];
  }
}

TEST_F(Methods, ACheckpointHoldsTheMomentsThatTheOptimizerHas) {
  const auto run = [&](const std::string& name, const std::string& optimizer) {
    train(task_.config({output(name), "training.updates=2", "training.optimizer=" + optimizer}));
    return states_of(name, 2);
  };
  EXPECT_THAT(run("adam", "{type: adam}"), UnorderedElementsAre("first_moment", "second_moment"));
  EXPECT_THAT(run("lion", "{type: lion}"), UnorderedElementsAre("first_moment"));
  EXPECT_THAT(run("sgd", "{type: sgd}"), ::testing::IsEmpty());
  EXPECT_THAT(run("momentum", "{type: sgd, momentum: 0.5}"), UnorderedElementsAre("first_moment"));
  EXPECT_THAT(run("adafactor", "{type: adafactor}"),
              UnorderedElementsAre("row_moment", "column_moment", "second_moment"));
  const auto count = [&](const std::string& name) {
    std::uint64_t bytes = 0;
    const auto file =
        formats::SafetensorsFile::open(task_.file("adafactor") / "checkpoint-2" / (name + ".safetensors"));
    for (const auto& tensor : file.tensors())
      bytes += static_cast<std::uint64_t>(tensor.shape.front() * tensor.shape.back());
    return bytes;
  };
  EXPECT_LT(count("row_moment") + count("column_moment") + count("second_moment"), count("model") / 4);
}

TEST_F(Methods, ACheckpointOfAnotherOptimizerIsRefusedUnlessForked) {
  train(task_.config({"training.updates=6", "training.optimizer.type=lion"}));
  const auto sgd = task_.config({"training.updates=8", "training.optimizer={type: sgd, momentum: 0.9}"});
  EXPECT_THAT(error_of([&] { train(sgd, StartMode::kResume); }),
              AllOf(HasSubstr("training.optimizer.type"), HasSubstr("lion"), HasSubstr("sgd"), HasSubstr("`fork`")));
  std::vector<std::string> warnings;
  TrainerEnvironment environment = make_environment(testing::host());
  environment.log = [&](core::LogLevel level, std::string_view text) {
    if (level == core::LogLevel::kWarning) warnings.emplace_back(text);
  };
  train(sgd, StartMode::kFork, {}, environment);
  EXPECT_THAT(warnings, ::testing::Contains(AllOf(HasSubstr("'lion'"), HasSubstr("moments of zeros"))));
  const core::Json state = core::load_json((task_.file("run") / "checkpoint-8/state.json").string());
  EXPECT_EQ(state["optimizer"]["type"], "sgd");
  EXPECT_EQ(state["optimizer"]["begun_after"], 6);
  EXPECT_THAT(states_of("run", 8), UnorderedElementsAre("first_moment"));
}

/// Weight decay pulls on what stands still otherwise.
TEST_F(Methods, ParametersWithoutDecayStayWhereTheyAre) {
  const auto gain_after = [&](const std::string& name, const std::string& no_decay) {
    train(task_.config({output(name), "training.updates=3", "training.clip_norm=1e-30",
                        "training.optimizer={type: sgd, weight_decay: 0.5, no_decay: " + no_decay + "}"}));
    const auto file = formats::SafetensorsFile::open(task_.file(name) / "last/model.safetensors");
    std::vector<float> values(16);
    const auto* stored = file.find("encoder.layers.0.feed_forward_norm.gain");
    if (stored == nullptr) stored = file.find("encoder.layers.0.feed_forward_norm.weight");
    EXPECT_NE(stored, nullptr);
    if (stored != nullptr) file.read(*stored, {.data = values.data(), .rows = 1, .cols = 16, .stride = 16});
    return values[3];
  };
  EXPECT_EQ(gain_after("kept", "['*norm*']"), 1);
  EXPECT_LT(gain_after("decayed", "['*.bias']"), 1);
  EXPECT_THAT(error_of([&] { train(task_.config({"training.optimizer={weight_decay: 0.1, no_decay: ['*nrom*']}"})); }),
              AllOf(HasSubstr("training.optimizer.no_decay"), HasSubstr("nrom")));
}

TEST_F(Methods, KeysWithoutEffectAreRefused) {
  EXPECT_THAT(refusal({"training.optimizer={type: sgd, beta2: 0.9}"}),
              AllOf(HasSubstr("training.optimizer.beta2"), HasSubstr("'sgd'")));
  EXPECT_THAT(refusal({"training.optimizer.momentum=0.9"}), HasSubstr("training.optimizer.momentum"));
  EXPECT_THAT(refusal({"training.optimizer={type: sgd, nesterov: true}"}), HasSubstr("needs"));
  EXPECT_THAT(refusal({"training.optimizer.no_decay=['*']"}), HasSubstr("without training.optimizer.weight_decay"));
  EXPECT_THAT(refusal({"training.optimizer={type: adafactor, relative_step: true}"}),
              HasSubstr("learning rates of its own"));
  EXPECT_THAT(refusal({"training.schedule.power=2"}), HasSubstr("training.schedule.power"));
  EXPECT_THAT(refusal({"training.schedule.plateau.factor=0.1"}), HasSubstr("training.schedule.plateau"));
  EXPECT_THAT(refusal({"training.schedule.type=plateau"}), HasSubstr("validation.every"));
  EXPECT_THAT(refusal({"training.schedule={type: warmup-stable-decay, warmup: 10, decay: 20}"}),
              HasSubstr("warmup-stable-decay"));
  EXPECT_THAT(refusal({"training.schedule={type: cyclic, final_learning_rate: 2}"}), HasSubstr("final_learning_rate"));
  EXPECT_THAT(refusal({"training.on_non_finite=restore", "checkpoint.every=0"}), HasSubstr("checkpoint.every"));
  EXPECT_THAT(refusal({"training.non_finite_limit=3"}), HasSubstr("training.non_finite_limit"));
  EXPECT_THAT(refusal({"training.loss_scale.initial=128"}), HasSubstr("without training.compute: fp16"));
  EXPECT_THAT(refusal({"training.compute=fp16", "training.loss_scale.initial=1000"}), HasSubstr("a power of two"));
  EXPECT_THAT(refusal({"training.compute=fp16", "training.loss_scale={initial: 2, least: 4}"}), HasSubstr("least, 4"));
  EXPECT_THAT(error_of([&] { train(task_.config({"training.compute=fp16"})); }),
              HasSubstr("the cpu backend does not train in fp16; fp32 and bf16 are what it has"));
  EXPECT_THAT(refusal({"training.label_smoothing=0", "training.label_smoothing_kind=others"}),
              HasSubstr("training.label_smoothing_kind"));
}

TEST_F(Methods, APlateauReducesTheLearningRate) {
  train(
      task_.config({"training.schedule={type: plateau, warmup: 0, learning_rate: 1e-9, final_learning_rate: 2e-10, "
                    "plateau: {factor: 0.5, patience: 1}}",
                    "validation.every=4", "validation.metrics=[]", "training.report_every=4"}));
  std::vector<double> rates;
  for (const core::Json& line : lines_of("run", "training")) rates.push_back(line["learning_rate"]);
  // The first validation is the best so far, those after it are no better: the second of these reduces the rate.
  EXPECT_THAT(rates, ElementsAre(1e-9, 1e-9, 1e-9, 5e-10, 5e-10, 2.5e-10));
}

TEST_F(Methods, RelativeStepsAreTheirOwnSchedule) {
  core::Json tree = task_.tree(
      {"training.optimizer={type: adafactor, relative_step: true}", "training.report_every=1", "training.updates=3"});
  tree["training"].erase("schedule");
  train(read_training_config(tree, "small task"));
  for (const core::Json& line : lines_of("run", "training")) EXPECT_EQ(line["learning_rate"], 0.01);
}

TEST_F(Methods, ClippedValuesChangeTheNormThatIsReported) {
  const auto norms = [&](const std::string& name, const std::string& value) {
    train(task_.config({output(name), "training.clip_norm=0", "training.clip_value=" + value, "training.updates=4"}));
    return lines_of(name, "training").at(0)["gradient_norm"].get<double>();
  };
  const double plain = norms("plain", "0");
  EXPECT_EQ(norms("loose", "1000"), plain);
  EXPECT_LT(norms("tight", "1e-4"), plain / 2);
}

TEST_F(Methods, LabelSmoothingOverTheOthersIsThatOfFairseq) {
  TrainConfig recipe;
  recipe.label_smoothing = 0.2;
  recipe.label_smoothing_kind = SmoothingKind::kOthers;
  // 1 - s on the target and s / 4 on each of the four others.
  const double s = uniform_smoothing(recipe, 5);
  EXPECT_NEAR(s / 5, 0.05, 1e-15);
  EXPECT_NEAR(1 - s + s / 5, 0.8, 1e-15);
  recipe.label_smoothing = 0.9;
  EXPECT_THROW(uniform_smoothing(recipe, 5), core::Error);
  recipe.label_smoothing_kind = SmoothingKind::kUniform;
  EXPECT_EQ(uniform_smoothing(recipe, 5), 0.9);
}

/// A sentence whose embedding overflows comes once in each epoch.
class NonFinite : public Methods {
 protected:
  TrainingConfig config(const std::vector<std::string>& assignments) const {
    std::vector<std::string> all = overflow_;
    all.insert(all.end(), assignments.begin(), assignments.end());
    return task_.config(all);
  }

 private:
  std::vector<std::string> overflow_ = task_.add_overflow();
};

TEST_F(NonFinite, StopNamesTheFirstOp) {
  const std::string message = error_of([&] { train(config({})); });
  EXPECT_THAT(message, AllOf(HasSubstr("training diverged"), HasSubstr("result of the op '"), HasSubstr("batch ")));
  EXPECT_THAT(message, HasSubstr("'attention'"));
  EXPECT_THAT(message, HasSubstr("from finite operands"));
}

TEST_F(NonFinite, SkippedUpdatesChangeNothingElse) {
  const TrainingSummary summary = train(config({"training.on_non_finite=skip"}));
  const std::vector<core::Json> skipped = lines_of("run", "non_finite");
  EXPECT_EQ(summary.updates, 24);
  ASSERT_GE(skipped.size(), 2U);
  for (std::size_t i = 0; i < skipped.size(); ++i) EXPECT_FALSE(skipped[i].contains("restored"));
  EXPECT_TRUE(std::isfinite(summary.training_loss));
  const core::Json state = core::load_json((task_.file("run") / "checkpoint-24/state.json").string());
  EXPECT_EQ(state["non_finite"], skipped.size());
}

/// Looking for the first op computes the update again, from the batches that are there.
/// On the backend that has fp16 on any machine. At 2^30 every gradient of these batches overflows.
TEST_F(Methods, TheLossScaleFollowsTheGradients) {
  const std::vector<std::string> fp16{"device=reference", "training.compute=fp16", "training.updates=30",
                                      "training.report_every=1", "validation.metrics=[]"};
  const auto with = [&](const std::string& run, const std::string& scale) {
    std::vector<std::string> all = fp16;
    all.insert(all.end(), {output(run), "training.loss_scale=" + scale});
    return task_.config(all);
  };
  train(with("falling", "{initial: 1073741824, most: 1073741824, grow_after: 4}"));
  const auto left_out = lines_of("falling", "loss_scale");
  ASSERT_GT(left_out.size(), 4U);
  EXPECT_EQ(left_out[0]["update"], 1) << "an update that is left out counts";
  EXPECT_EQ(left_out[0]["loss_scale"], 536870912);
  const auto lines = lines_of("falling", "training");
  ASSERT_EQ(lines.size() + left_out.size(), 30U);
  bool grew = false;
  for (std::size_t i = 1; i < lines.size(); ++i)
    grew = grew || lines[i]["loss_scale"] == 2 * lines[i - 1]["loss_scale"].get<std::int64_t>();
  EXPECT_TRUE(grew);
  EXPECT_TRUE(lines_of("falling", "non_finite").empty()) << "which are counted, and named";
  EXPECT_LT(lines.back()["loss"], lines.front()["loss"]);
  // A run that is continued, in the middle of falling and between the last fall and the next rise.
  for (const std::string updates : {"6", "13"}) {
    TrainingConfig config = with("continued" + updates, "{initial: 1073741824, most: 1073741824, grow_after: 4}");
    config.training.updates = std::stoll(updates);
    train(config);
    config.training.updates = 30;
    train(config, StartMode::kResume);
    EXPECT_TRUE(task_.checkpoint_bytes("continued" + updates, 30) == task_.checkpoint_bytes("falling", 30)) << updates;
    EXPECT_EQ(lines_of("continued" + updates, "training"), lines) << updates;
  }
  // Where it cannot fall, the gradient is what on_non_finite is for.
  EXPECT_THAT(error_of([&] { train(with("stopped", "{initial: 1073741824, least: 1073741824, most: 1073741824}")); }),
              AllOf(HasSubstr("training diverged"), HasSubstr("update 1")));
}

TEST_F(NonFinite, OnBlocksSkippingGoesOnWhereItWas) {
  std::filesystem::create_directory(folder_.path() / "large");
  const SmallTask large(folder_.path() / "large", 20000);
  std::ofstream(large.file("train.source"), std::ios::app) << "e e\n";
  std::ofstream(large.file("train.target"), std::ios::app) << "a b\n";
  const auto of_run = [&](const std::string& run) {
    core::Json tree = to_json(config({}));
    tree["data"]["train"] = {{"source", large.file("train.source").string()},
                             {"target", large.file("train.target").string()}};
    tree["output"] = task_.file(run).string();
    tree["data"]["memory"] = "1MiB";
    tree["training"].merge_patch({{"on_non_finite", "skip"}, {"updates", 80}, {"batch_tokens", 2000}});
    return read_training_config(tree, "test");
  };
  train(of_run("whole"));
  const std::vector<core::Json> skipped = lines_of("whole", "non_finite");
  ASSERT_FALSE(skipped.empty());
  StopAt stop(50);
  EXPECT_THROW(train(of_run("cut"), StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  train(of_run("cut"), StartMode::kResume);
  EXPECT_EQ(lines_of("cut", "non_finite"), skipped);
  EXPECT_EQ(task_.checkpoint_bytes("cut", 80), task_.checkpoint_bytes("whole", 80));
}

TEST_F(NonFinite, ParametersGoBackToTheLastCheckpoint) {
  train(config({output("whole"), "training.on_non_finite=restore"}));
  const std::vector<core::Json> restored = lines_of("whole", "non_finite");
  ASSERT_GE(restored.size(), 2U);
  for (const core::Json& line : restored) {
    const std::int64_t update = line["update"], to = line["restored"];
    EXPECT_EQ(to, (update - 1) / 7 * 7) << "those that checkpoint.every asks for, or the beginning";
  }
  const std::string whole = task_.checkpoint_bytes("whole", 24);
  int interrupted = 0;
  for (const std::uint64_t update : {1, 8, 13, 20}) {
    const std::string run = "stopped" + std::to_string(update);
    StopAt stop(update);
    const auto same = config({output(run), "training.on_non_finite=restore"});
    // A stop is asked for where progress is told, which an update that is left out does not.
    if (error_of([&] { train(same, StartMode::kFresh, stop.source.get_token(), stop.environment); }) != "no error")
      ++interrupted;
    train(same, StartMode::kResume);
    EXPECT_EQ(task_.checkpoint_bytes(run, 24), whole) << "interrupted after update " << update;
    EXPECT_EQ(lines_of(run, "non_finite"), restored);
  }
  EXPECT_GE(interrupted, 2);
}

TEST_F(NonFinite, NoMoreOftenThanTheLimit) {
  EXPECT_THAT(error_of([&] {
                train(config({"training.on_non_finite=skip", "training.non_finite_limit=1"}));
              }),
              HasSubstr("training.non_finite_limit, 1"));
}

/// Adam moves each parameter by the learning rate: far too large ones leave parameters from which nothing comes back.
TEST_F(Methods, ParametersThatRunAwayAreRestored) {
  const std::vector<std::string> wild{"training.schedule={type: polynomial, power: 60, warmup: 0, learning_rate: 1e30}",
                                      "training.clip_norm=0", "training.non_finite_limit=24",
                                      "training.on_non_finite=restore", "validation.metrics=[]"};
  const TrainingSummary summary = train(task_.config(wild));
  EXPECT_EQ(summary.updates, 24);
  EXPECT_FALSE(lines_of("run", "non_finite").empty());
  EXPECT_TRUE(std::isfinite(summary.training_loss));
  std::vector<std::string> stopping = wild;
  stopping[2] = "training.non_finite_limit=3";
  stopping[3] = "training.on_non_finite=skip";
  stopping.push_back(output("skipping"));
  EXPECT_THAT(error_of([&] { train(task_.config(stopping)); }), ::testing::Not(HasSubstr("no error")))
      << "leaving updates out does not bring parameters back";
}

}  // namespace
}  // namespace dragoman::training
