#include "small_task.h"
#include "test_data.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/evaluation/ter.h>
#include <dragoman/evaluation/text_file.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallTask;
using testing::StopAt;
using testing::train;

class ValidationMetrics : public ::testing::Test {
 protected:
  std::vector<core::Json> lines(const std::string& type, const std::string& run = "run") const {
    std::vector<core::Json> found;
    core::LineReader reader(task_.file(run) / "metrics.jsonl");
    for (std::string line; reader.next(line);)
      if (core::Json json = core::parse_json(line, "metrics.jsonl"); json["type"] == type) found.push_back(json);
    return found;
  }
  std::vector<std::string> kept(const std::string& name) const {
    return evaluation::read_text_file(task_.file("run") / "validation" / name).lines;
  }
  std::string error_with(const std::vector<std::string>& assignments) const {
    try {
      task_.config(assignments);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  TrainerEnvironment listening() {
    TrainerEnvironment environment = testing::trusting_environment();
    environment.log = [this](core::LogLevel level, std::string_view message) {
      if (level == core::LogLevel::kWarning) warnings_.emplace_back(message);
    };
    return environment;
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
  std::vector<std::string> warnings_;
};

TEST_F(ValidationMetrics, AreThoseOfTheKeptTranslations) {
  train(task_.config({"validation.metrics=[ter, chrf++, bleu]", "validation.metric=ter", "validation.beam_size=2"}));
  const core::Json line = lines("validation").back();
  const std::vector<std::vector<std::string>> references{kept("reference.txt")};
  EXPECT_EQ(line["TER"], evaluation::corpus_score(evaluation::Ter(), kept("last.txt"), references).value);
  EXPECT_EQ(line["chrF2++"],
            evaluation::corpus_score(evaluation::Chrf({.word_order = 2}), kept("last.txt"), references).value);
  EXPECT_THAT(line["signatures"]["TER"].get<std::string>(), HasSubstr("tok:tercom"));
  EXPECT_EQ(kept("best.txt"), kept("last.txt")) << "the only validation is the best";
  EXPECT_EQ(kept("source.txt").size(), 12U);
}

TEST_F(ValidationMetrics, OfTerTheLowestIsTheBest) {
  train(task_.config({"training.updates=120", "validation.every=20", "validation.metrics=[ter]"}));
  double lowest = 1e9;
  for (const core::Json& line : lines("validation")) {
    EXPECT_EQ(line["best"].get<bool>(), line["TER"].get<double>() < lowest);
    lowest = std::min(lowest, line["TER"].get<double>());
  }
}

/// The command counts the lines in which translation and reference differ.
TEST_F(ValidationMetrics, AProgramGetsTheFilesAndItsLastNumberCounts) {
  const std::string command =
      "echo 'lines: 99'; test $(wc -l < {sources}) = 12 || exit 1; diff {hypotheses} {references} | grep -c '^<' | "
      "sed 's/^/wrong = /'";
  core::Json tree = task_.tree();
  tree["validation"]["metrics"] = {
      "bleu", {{"name", "wrong-lines"}, {"command", command}, {"better", "lower"}, {"timeout", 60}}};
  tree["validation"]["metric"] = "wrong-lines";
  const TrainingSummary summary = train(read_training_config(tree, "test"));
  const auto hypotheses = kept("last.txt");
  const auto references = kept("reference.txt");
  double wrong = 0;
  for (std::size_t i = 0; i < references.size(); ++i) wrong += hypotheses[i] != references[i] ? 1 : 0;
  EXPECT_EQ(lines("validation").back()["wrong-lines"], wrong);
  EXPECT_EQ(summary.best->value, wrong);
  EXPECT_THAT(core::read_file(task_.file("run") / "best/README.md"), HasSubstr("wrong-lines"));
}

/// It needs no permission: the caller has brought the function along.
TEST_F(ValidationMetrics, AFunctionOfTheCallerGetsTheTexts) {
  TrainerEnvironment environment = make_environment(testing::host());
  std::vector<std::string> hypotheses;
  std::vector<std::string> references;
  environment.metrics["wrong"] = [&](const MetricTexts& texts) {
    EXPECT_EQ(texts.sources, kept("source.txt"));
    hypotheses = texts.hypotheses;
    references = texts.references;
    return 17.5;
  };
  core::Json tree = task_.tree();
  tree["validation"]["metrics"] = {"bleu", {{"name", "own"}, {"function", "wrong"}, {"better", "lower"}}};
  tree["validation"]["metric"] = "own";
  const TrainingConfig config = read_training_config(tree, "test");
  EXPECT_TRUE(commands_of(config).empty());
  EXPECT_EQ(train(config, StartMode::kFresh, {}, environment).best->value, 17.5);
  EXPECT_EQ(hypotheses, kept("last.txt"));
  EXPECT_EQ(references, kept("reference.txt"));
  EXPECT_EQ(lines("validation").back()["own"], 17.5);
}

TEST_F(ValidationMetrics, AFunctionThatIsMissingOrReturnsNoNumberIsNamed) {
  core::Json tree = task_.tree({"training.updates=2"});
  tree["validation"]["metrics"] = {{{"name", "own"}, {"function", "wrong"}, {"on_failure", "stop"}}};
  const TrainingConfig config = read_training_config(tree, "test");
  const auto message = [&](const TrainerEnvironment& environment) {
    fs::remove_all(task_.file("run"));
    try {
      train(config, StartMode::kFresh, {}, environment);
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  TrainerEnvironment environment = make_environment(testing::host());
  EXPECT_THAT(message(environment), AllOf(HasSubstr("own is the function 'wrong'"), HasSubstr("none of that name")));
  environment.metrics["wrong"] = [](const MetricTexts&) { return std::nan(""); };
  EXPECT_THAT(message(environment), HasSubstr("no finite number"));
}

TEST_F(ValidationMetrics, OnFailureIsForValuesOfAFunctionAndItsExceptionsPass) {
  core::Json tree = task_.tree({"training.updates=2"});
  tree["validation"]["metrics"] = {{{"name", "own"}, {"function", "wrong"}, {"on_failure", "warn"}}};
  const TrainingConfig config = read_training_config(tree, "test");
  TrainerEnvironment environment = make_environment(testing::host());
  environment.metrics["wrong"] = [](const MetricTexts&) { return std::nan(""); };
  train(config, StartMode::kFresh, {}, environment);
  EXPECT_TRUE(lines("validation").back()["own"].is_null());
  for (const core::ErrorCode code : {core::ErrorCode::kIo, core::ErrorCode::kUnsupported}) {
    fs::remove_all(task_.file("run"));
    environment.metrics["wrong"] = [&](const MetricTexts&) -> double { core::fail(code, "it is mine"); };
    EXPECT_THROW(train(config, StartMode::kFresh, {}, environment), core::Error);
  }
}

/// A configuration may come from a stranger: nothing is run, and nothing is written, unless the caller allows it.
TEST_F(ValidationMetrics, AProgramIsRunOnlyIfCommandsAreAllowed) {
  const std::string proof = task_.file("proof").string();
  const TrainingConfig config =
      task_.config({"training.updates=2",
                    "validation.metrics=[bleu, {name: own, command: 'touch " + proof + " {hypotheses}; echo 1'}]"});
  EXPECT_THAT(commands_of(config), ElementsAre("own: touch " + proof + " {hypotheses}; echo 1"));
  EXPECT_TRUE(commands_of(task_.config({"validation.metrics=[bleu, chrf, ter]"})).empty());
  EXPECT_FALSE(make_environment(testing::host()).allow_commands);
  try {
    train(config, StartMode::kFresh, {}, make_environment(testing::host()));
    ADD_FAILURE() << "the program was run";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("validation.metrics"), HasSubstr("own: touch"), HasSubstr("allow")));
  }
  EXPECT_FALSE(fs::exists(proof));
  EXPECT_FALSE(fs::exists(task_.file("run")));
  train(config, StartMode::kFresh, {}, testing::trusting_environment());
  EXPECT_TRUE(fs::exists(proof));
}

TEST_F(ValidationMetrics, AProgramThatFailsIsAWarningOrTheEnd) {
  for (const auto& [command, message] :
       std::vector<std::pair<std::string, std::string>>{{"echo sorry {hypotheses} >&2; exit 7", "status 7; it said"},
                                                        {"echo {hypotheses} is fine", "printed no number"},
                                                        {"true {hypotheses}", "printed no number"},
                                                        {"echo nan {hypotheses}; echo nan", "printed no number"},
                                                        {"no-such-program {hypotheses}", "status 127"},
                                                        {"sleep 60 {hypotheses}; sleep 60", "within 1 seconds"}}) {
    core::Json tree = task_.tree({"training.updates=2"});
    tree["validation"]["metrics"] = {"bleu", {{"name", "own"}, {"command", command}, {"timeout", 1}}};
    fs::remove_all(task_.file("run"));
    warnings_.clear();
    const TrainingSummary summary = train(read_training_config(tree, "test"), StartMode::kFresh, {}, listening());
    EXPECT_THAT(warnings_, Contains(AllOf(HasSubstr("own"), HasSubstr(message)))) << command;
    EXPECT_TRUE(lines("validation").back()["own"].is_null());
    EXPECT_TRUE(summary.best.has_value()) << "BLEU chooses";
    tree["validation"]["metrics"][1]["on_failure"] = "stop";
    fs::remove_all(task_.file("run"));
    EXPECT_THROW(train(read_training_config(tree, "test")), core::Error) << command;
    EXPECT_TRUE(fs::exists(task_.file("run") / "checkpoint-2")) << "nothing is lost";
  }
}

TEST_F(ValidationMetrics, ConfigurationsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(error_with({"validation.metrics=[{name: bleu, command: 'x {hypotheses}'}]"}), HasSubstr("name"));
  EXPECT_THAT(error_with({"validation.metrics=[{name: own, command: 'x'}]"}), HasSubstr("{hypotheses}"));
  EXPECT_THAT(error_with({"validation.metrics=[{name: own}]"}), HasSubstr("command"));
  EXPECT_THAT(error_with({"validation.metrics=[{name: own, command: 'x {hypotheses}', timout: 3}]"}),
              HasSubstr("timeout"));
  EXPECT_THAT(error_with({"validation.metrics=[bleu, bleu]"}), HasSubstr("twice"));
  EXPECT_THAT(error_with({"validation.metric=own"}), HasSubstr("own"));
  EXPECT_THAT(error_with({"validation.minimum_improvement=1"}), HasSubstr("patience"));
  EXPECT_THAT(error_with({"validation.stop_on=any"}), HasSubstr("patience"));
  const core::Json own = {{"name", "own"},
                          {"command", {"prog", "{hypotheses}"}},
                          {"better", "lower"},
                          {"timeout", 5},
                          {"on_failure", "stop"}};
  core::Json tree = task_.tree({"validation.metric=own"});
  tree["validation"]["metrics"] = {own, "ter"};
  const core::Json written = to_json(read_training_config(tree, "test"));
  EXPECT_EQ(written["validation"]["metrics"], tree["validation"]["metrics"]) << "reading and writing";
}

/// A run whose metrics never change stops by them: `one` is always 1, while the loss falls.
class StopOnSeveral : public ValidationMetrics {
 protected:
  std::int64_t updates_with(const std::string& stop_on, const std::string& run) {
    core::Json tree = task_.tree({"output=" + task_.file(run).string(), "validation.every=4", "validation.patience=2",
                                  "training.updates=24", "validation.metric=loss", "validation.stop_on=" + stop_on,
                                  "training.schedule.learning_rate=0.002"});
    tree["validation"]["metrics"] = {{{"name", "one"}, {"command", "echo 1 {hypotheses} > /dev/null; echo 1"}}};
    return train(read_training_config(tree, "test")).updates;
  }
};

TEST_F(StopOnSeveral, OneAnyOrAllOfThem) {
  EXPECT_EQ(updates_with("metric", "metric"), 24);
  EXPECT_EQ(updates_with("any", "any"), 12) << "the constant one was best at 4, and stalled at 8 and 12";
  EXPECT_EQ(updates_with("all", "all"), 24);
}

TEST_F(StopOnSeveral, AResumedRunStopsWhereAnUninterruptedOneDoes) {
  core::Json tree =
      task_.tree({"validation.every=4", "validation.patience=2", "training.updates=24", "validation.metric=loss",
                  "validation.stop_on=any", "training.schedule.learning_rate=0.002"});
  tree["validation"]["metrics"] = {{{"name", "one"}, {"command", "echo 1 {hypotheses} > /dev/null; echo 1"}}};
  const TrainingConfig config = read_training_config(tree, "test");
  StopAt stop(10);
  EXPECT_THROW(train(config, StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  EXPECT_EQ(train(config, StartMode::kResume).updates, 12);
}

TEST(MinimumImprovement, SmallStepsAreBestButDoNotCount) {
  EarlyStopping stopping({.higher_is_better = true, .patience = 2, .minimum_improvement = 1});
  EXPECT_TRUE(stopping.observe(1, 10));
  EXPECT_TRUE(stopping.observe(2, 10.5)) << "the best so far";
  EXPECT_EQ(stopping.validations_without_best(), 1);
  EarlyStopping restored({.higher_is_better = true, .patience = 2, .minimum_improvement = 1});
  restored.restore(stopping.save(), "test");
  for (EarlyStopping* each : {&stopping, &restored}) {
    EXPECT_TRUE(each->observe(3, 11)) << "by 1 better than what counted last";
    EXPECT_EQ(each->validations_without_best(), 0);
    EXPECT_TRUE(each->observe(4, 11.9));
    EXPECT_FALSE(each->exhausted());
    EXPECT_FALSE(each->observe(5, 11.9));
    EXPECT_TRUE(each->exhausted());
    EXPECT_EQ(each->ranking().front().update, 4);
  }
}

TEST_F(ValidationMetrics, ARunKeepsTheLengthsOfItsDataAndWhereItWasResumed) {
  StopAt stop(5);
  EXPECT_THROW(train(task_.config(), StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  train(task_.config(), StartMode::kResume);
  const core::Json record = core::parse_json(core::read_file(task_.file("run") / "run.json"), "run.json");
  EXPECT_EQ(record["resumes"], core::Json::array({5}));
  const core::Json data = core::parse_json(core::read_file(task_.file("run") / "data.json"), "data.json");
  EXPECT_EQ(data["train"]["pairs"], 80);
  for (const char* side : {"source", "target"}) {
    std::int64_t pairs = 0;
    for (const core::Json& bin : data["train"][side]) pairs += bin[1].get<std::int64_t>();
    EXPECT_EQ(pairs, 80);
  }
}

}  // namespace
}  // namespace dragoman::training
