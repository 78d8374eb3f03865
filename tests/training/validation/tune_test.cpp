#include "dragoman/training/tune.h"

#include "error_message.h"
#include "small_task.h"
#include "test_data.h"

#include <limits>

#include <gmock/gmock.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/ter.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::training {
namespace {

using dragoman::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Says "good" for each of four words in one combination, and for fewer in the others.
std::vector<std::string> pretend(const decoding::DecodingOptions& options) {
  const bool best = options.beam_size == 8 && options.length_penalty.alpha == 1.5;
  return {best ? "one two three four five" : "one two three four six"};
}

TEST(TuneDecoding, TriesEveryCombinationAndFindsTheBest) {
  const std::vector<std::string> references = {"one two three four five"};
  const evaluation::Bleu bleu;
  const TuneResult result = tune_decoding({{"no_repeat_ngram", 3}}, {.alpha = {1, 1.5}, .beam_size = {2, 8}},
                                          tune_metric(bleu, references), pretend, "test");
  ASSERT_EQ(result.trials.size(), 4U);
  EXPECT_EQ(result.best, 3U);
  EXPECT_EQ(result.trials[result.best.value()].decoding,
            (core::Json{{"no_repeat_ngram", 3}, {"beam_size", 8}, {"alpha", 1.5}}));
  EXPECT_NEAR(result.trials[3].score.value, 100, 1e-9);
  EXPECT_LT(result.trials[2].score.value, 100);
}

TEST(TuneDecoding, OfEqualOnesTheFirstIsTheBest) {
  const std::vector<std::string> references = {"one two three four five"};
  const evaluation::Bleu bleu;
  const TuneResult result =
      tune_decoding(core::Json::object(), {.alpha = {3, 2, 1}}, tune_metric(bleu, references), pretend, "test");
  EXPECT_EQ(result.trials[result.best.value()].decoding, (core::Json{{"alpha", 3.0}}));
}

TEST(TuneDecoding, GoesByTheDirectionOfTheMetric) {
  const std::vector<std::string> references = {"one two three four five"};
  const evaluation::Ter ter;
  const TuneResult result = tune_decoding(core::Json::object(), {.alpha = {1, 1.5}, .beam_size = {8}},
                                          tune_metric(ter, references), pretend, "test");
  EXPECT_GT(result.trials[0].score.value, 0);
  EXPECT_EQ(result.trials[1].score.value, 0);
  EXPECT_EQ(result.best, 1U) << "the fewest edits";
}

TEST(TuneDecoding, WhatIsNotANumberIsNeverTheBest) {
  const auto best_of = [](std::vector<double> values) {
    std::size_t next = 0;
    const TuneMetric metric{.score = [&](const std::vector<std::string>&) {
      evaluation::Score score;
      score.value = values.at(next++);
      return score;
    }};
    return tune_decoding(core::Json::object(), {.alpha = {1, 2, 3}}, metric, pretend, "test").best;
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(best_of({none, -3, none}), 1U);
  EXPECT_EQ(best_of({-2, none, -1}), 2U);
  EXPECT_EQ(best_of({none, none, none}), std::nullopt);
}

TEST(TuneDecoding, RefusesWhatHasNoBeam) {
  const auto never = [](const decoding::DecodingOptions&) -> std::vector<std::string> {
    throw std::logic_error("called");
  };
  EXPECT_THAT(message_of([&] {
                tune_decoding({{"decoder", "greedy"}}, {.alpha = {1}}, {}, never, "m: decoding");
              }),
              AllOf(HasSubstr("m: decoding"), HasSubstr("greedy")));
}

TEST(TuneDecoding, ARunGoesByItsMetric) {
  const dragoman::testing::TemporaryFolder folder;
  const testing::SmallTask task(folder.path());
  const auto log_of = [&](const core::Json& metric, const std::string& name) {
    core::Json tree = task.tree({"output=" + task.file(name).string(), "training.updates=4",
                                 "validation.tune={alpha: [1, 2], beam_size: [2]}"});
    tree["validation"]["metrics"] = {metric, "bleu"};
    tree["validation"]["metric"] = name;
    TrainerEnvironment environment = testing::trusting_environment();
    std::string log;
    environment.log = [&](core::LogLevel, std::string_view message) { log += std::string(message) + "\n"; };
    testing::train(read_training_config(tree, "test"), StartMode::kFresh, {}, environment);
    return log;
  };
  EXPECT_THAT(log_of("ter", "ter"), HasSubstr("tune: beam_size 2, alpha 1.0: TER "));
  EXPECT_THAT(log_of("perplexity", "perplexity"), HasSubstr("tune: beam_size 2, alpha 1.0: BLEU "));
  const std::string counted =
      "echo {hypotheses} >> " + task.file("log-of-calls").string() + "; wc -l < " + task.file("log-of-calls").string();
  EXPECT_THAT(log_of({{"name", "calls"}, {"command", counted}, {"better", "lower"}}, "calls"),
              AllOf(HasSubstr("tune: beam_size 2, alpha 1.0: calls 2.00"), HasSubstr("alpha 2.0: calls 3.00"),
                    HasSubstr("tuned: beam_size 2, alpha 1.0: calls 2.00")));
  EXPECT_THAT(core::read_file(task.file("log-of-calls")), HasSubstr("validation/tune.txt"));
  EXPECT_FALSE(std::filesystem::exists(task.file("calls/validation/tune.txt")));
  EXPECT_THAT(log_of({{"name", "broken"}, {"command", "echo sorry {hypotheses}; exit 3"}}, "broken"),
              HasSubstr("validation.tune: no search gave a broken"));
  EXPECT_TRUE(formats::load_model_config(task.file("broken") / "last").decoding.empty());
}

/// The folder says what a search over the settings by other means finds.
TEST(TuneDecoding, TheBestModelOfARunSaysWhatWasBest) {
  const dragoman::testing::TemporaryFolder folder;
  const testing::SmallTask task(folder.path());
  const auto summary = testing::train(task.config({"validation.tune={alpha: [-2, 0.5, 1, 4], beam_size: [3]}",
                                                   "checkpoint.average=2", "checkpoint.average_of=last"}));
  const formats::ModelConfig config = formats::load_model_config(summary.model);
  plugins::Host host;
  std::vector<double> values;
  std::vector<std::string> sources;
  std::vector<std::string> references;
  core::LineReader source(task.file("valid.source"));
  core::LineReader target(task.file("valid.target"));
  for (std::string line; source.next(line);) sources.push_back(line);
  for (std::string line; target.next(line);) references.push_back(line);
  double best = -1;
  core::Json best_decoding;
  for (const double alpha : {-2.0, 0.5, 1.0, 4.0}) {
    pipeline::TranslateOptions options;
    options.search.beam_size = 3;
    options.search.alpha = alpha;
    options.ignore_model_defaults = true;
    const auto texts = pipeline::Translator(pipeline::Model(summary.model, host), options).translate(sources);
    const double value = evaluation::corpus_bleu(texts, {{references}}).value;
    if (value <= best) continue;
    best = value;
    best_decoding = {{"beam_size", 3}, {"alpha", alpha}};
  }
  EXPECT_EQ(config.decoding, best_decoding);
  EXPECT_TRUE(formats::load_model_config(task.file("run") / "last").decoding.empty());
}

TEST(TuneDecoding, TheConfigurationSaysWhatIsWrong) {
  const dragoman::testing::TemporaryFolder folder;
  const testing::SmallTask task(folder.path());
  const auto error = [&](const std::string& assignment) { return message_of([&] { task.config({assignment}); }); };
  EXPECT_THAT(error("validation.tune={alpha: 3}"), AllOf(HasSubstr("alpha"), HasSubstr("list")));
  EXPECT_THAT(error("validation.tune={alpha: [x]}"), AllOf(HasSubstr("alpha"), HasSubstr("numbers")));
  EXPECT_THAT(error("validation.tune={alpha: [1e300]}"), HasSubstr("alpha"));
  EXPECT_THAT(error("validation.tune={beam_size: [0]}"), AllOf(HasSubstr("beam_size"), HasSubstr("0")));
  EXPECT_THAT(error("validation.tune={beam_size: [1.5]}"), HasSubstr("beam_size"));
  EXPECT_THAT(error("validation.tune={alfa: [1]}"), HasSubstr("alpha"));
  EXPECT_THAT(error("validation.tune={}"), HasSubstr("tune"));
  core::Json tree = task.tree({"validation.tune={alpha: [1]}"});
  tree["data"].erase("validation");
  EXPECT_THAT(message_of([&] { read_training_config(tree, "t"); }), HasSubstr("data.validation"));
  const TrainingConfig config = task.config({"validation.tune={alpha: [1, 0.5], beam_size: [3]}"});
  EXPECT_EQ(to_json(read_training_config(to_json(config), "t")), to_json(config));
}

}  // namespace
}  // namespace dragoman::training
