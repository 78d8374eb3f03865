#include "small_task.h"
#include "test_data.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/training/config.h>
#include <dragoman/training/option_table.h>

namespace dragoman::training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

core::Json minimal() {
  return core::parse_yaml(R"(
output: run
data: {train: {source: a.de, target: a.en}, tokenizer: t.json}
training: {updates: 10}
)",
                          "train.yml");
}

TrainingConfig with(const std::vector<std::string>& assignments) {
  core::Json tree = minimal();
  for (const std::string& assignment : assignments) core::set_option(tree, assignment);
  return read_training_config(tree, "train.yml");
}

std::string error_with(const std::vector<std::string>& assignments) {
  try {
    with(assignments);
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(TrainingConfig, NeedsLittle) {
  const TrainingConfig config = with({});
  EXPECT_EQ(config.model.type, "transformer");
  EXPECT_EQ(config.data.source_tokenizer.file, "t.json");
  EXPECT_EQ(config.data.target_tokenizer.file, "t.json");
  EXPECT_TRUE(config.data.validation.empty());
  EXPECT_EQ(config.training.schedule.kind, ScheduleKind::kInverseSqrt);
}

TEST(TrainingConfig, EveryKeySurvivesADump) {
  const TrainingConfig config = with(
      {"threads=3", "model.d_model=64", "model.decoder_start=end", "data.validation={source: [v.de], target: v.en}",
       "data.tokenizer={source: s.json, target: t.json}", "data.bpe_dropout=0.1", "training.schedule.type=cosine",
       "training.schedule.warmup=5", "training.optimizer.beta2=0.999", "validation.metrics=[chrf]",
       "validation.patience=4", "checkpoint.average=5", "checkpoint.average_of=last", "checkpoint.export=f16"});
  const core::Json dump = to_json(config);
  EXPECT_EQ(dump["model"]["d_model"], 64);
  EXPECT_EQ(dump["validation"]["metric"], "chrf");
  EXPECT_EQ(to_json(read_training_config(core::parse_yaml(core::dump_yaml(dump), "dump"), "dump")), dump);
}

TEST(TrainingConfig, AMetricIsAProgramOrAFunction) {
  const TrainingConfig config =
      with({"validation.metrics=[{name: own, function: f, better: lower, on_failure: stop}]"});
  ASSERT_EQ(config.validation.metrics.size(), 1U);
  const MetricChoice& metric = config.validation.metrics.front();
  EXPECT_EQ(metric.kind, ValidationMetric::kFunction);
  EXPECT_EQ(metric.name(), "own");
  EXPECT_EQ(metric.function.function, "f");
  EXPECT_FALSE(metric.higher_is_better());
  const core::Json dump = to_json(config);
  EXPECT_FALSE(dump["validation"]["metrics"][0].contains("timeout"));
  EXPECT_EQ(to_json(read_training_config(core::parse_yaml(core::dump_yaml(dump), "dump"), "dump")), dump);
  EXPECT_THAT(error_with({"validation.metrics=[{name: own, function: f, timeout: 5}]"}),
              HasSubstr("a function has no time limit"));
  EXPECT_THAT(error_with({"validation.metrics=[{name: own, function: f, command: 'wc {hypotheses}'}]"}),
              HasSubstr("is for a program"));
}

TEST(TrainingConfig, EmbeddingsAreAFileOrMore) {
  const DataConfig data =
      with({"data.embeddings={source: a.txt, target: {file: b.safetensors, tensor: t, frozen: true, "
            "scale: 0.5}}"})
          .data;
  EXPECT_EQ(data.source_embeddings.file, "a.txt");
  EXPECT_FALSE(data.source_embeddings.frozen);
  EXPECT_EQ(data.source_embeddings.scale, 1);
  EXPECT_EQ(data.target_embeddings.tensor, "t");
  EXPECT_TRUE(data.target_embeddings.frozen);
  TrainingConfig config = with({"data.embeddings.target={file: b, frozen: true}"});
  EXPECT_TRUE(config.data.source_embeddings.file.empty());
  const core::Json dump = to_json(config);
  EXPECT_EQ(to_json(read_training_config(dump, "dump")), dump);
  EXPECT_EQ(keys_that_affect_results(config)["data.target_embeddings.frozen"], true);
  EXPECT_THAT(error_with({"data.embeddings.source={frozen: true}"}), HasSubstr("file"));
  EXPECT_THAT(error_with({"data.embeddings.source={file: a, frosen: true}"}), HasSubstr("frozen"));
  EXPECT_THAT(error_with({"data.embeddings.source={file: a, scale: 0}"}), HasSubstr("scale"));
  EXPECT_THAT(error_with({"data.embeddings.source=3"}), HasSubstr("source"));
  EXPECT_THAT(error_with({"data.embeddings.soruce=a"}), HasSubstr("source"));
}

TEST(TrainingConfig, AMistypedKeyIsNamedWithTheNearestOne) {
  EXPECT_THAT(error_with({"training.batch_token=4096"}),
              AllOf(HasSubstr("train.yml"), HasSubstr("batch_token"), HasSubstr("batch_tokens")));
  EXPECT_THAT(error_with({"training.schedule.warm_up=1"}), HasSubstr("warmup"));
  EXPECT_THAT(error_with({"trainings.seed=1"}), HasSubstr("training"));
  EXPECT_THAT(error_with({"data.special_tokens.ende=x"}), HasSubstr("end"));
}

TEST(TrainingConfig, AKeyOfAnotherSectionIsNamedByItsPath) {
  for (const auto& [assignment, hint] : std::vector<std::pair<std::string, std::string>>{
           {"training.learning_rate=0.1", "did you mean 'training.schedule.learning_rate'?"},
           {"learning_rate=0.1", "did you mean 'training.schedule.learning_rate'?"},
           {"training.optimizer.lr=0.1", "did you mean 'training.schedule.learning_rate'?"},
           {"training.max_tokens=4096", "did you mean 'batch_tokens'?"},
           {"training.max_epoch=3", "did you mean 'epochs'?"},
           {"training.max_steps=3", "did you mean 'updates'?"},
           {"training.fp16=true", "did you mean 'compute' with the value fp16?"},
           {"training.label_smoothing_factor=0.1", "did you mean 'label_smoothing'?"},
           {"training.beam_size=4", "did you mean 'validation.beam_size'?"},
           {"training.dropout=0.1", "did you mean 'model.dropout'?"},
           {"validation.max_tokens=1000", "did you mean 'batch_tokens'?"},
           {"validation.keep=3", "did you mean 'checkpoint.keep'?"},
           {"valid={}", "did you mean 'validation'?"},
           {"schedule=noam", "did you mean 'training.schedule'?"},
           {"d_model=64", "did you mean 'model.d_model'?"},
           {"data.special_tokens.eos=x", "unknown key 'eos'"},
       })
    EXPECT_THAT(error_with({assignment}), HasSubstr(hint)) << assignment;
}

/// The keys of a model are its type's, which knows no others; what is elsewhere is said all the same.
TEST(TrainingConfig, KeysUnderModelAreGuessedToo) {
  const auto error_of_model = [](const std::string& assignment) {
    try {
      resolved_configuration(with({assignment}), make_environment(testing::host()));
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error_of_model("model.encoder_attention_heads=4"), HasSubstr("did you mean 'heads'?"));
  EXPECT_THAT(error_of_model("model.attention_dropout=0.1"), HasSubstr("did you mean 'model.dropout.attention'?"));
  EXPECT_THAT(error_of_model("model.dropout_rate=0.1"), HasSubstr("did you mean 'dropout'?"));
  EXPECT_THAT(error_of_model("model.label_smoothing=0.1"), HasSubstr("did you mean 'training.label_smoothing'?"));
  EXPECT_THAT(error_of_model("model.zzzzzzzz=1"),
              AllOf(HasSubstr("unknown key 'zzzzzzzz'"), ::testing::Not(HasSubstr("did you mean"))));
}

TEST(TrainingConfig, ANameInPlaceOfASectionIsItsType) {
  EXPECT_EQ(to_json(with({"training.optimizer=adam"})), to_json(with({"training.optimizer={type: adam}"})));
  EXPECT_EQ(with({"training.optimizer=adam"}).training.optimizer.kind, OptimizerKind::kAdam);
  EXPECT_EQ(to_json(with({"training.schedule=constant"})), to_json(with({"training.schedule={type: constant}"})));
  EXPECT_EQ(to_json(with({"model=t5"})), to_json(with({"model={type: t5}"})));
  EXPECT_THAT(error_with({"training.optimizer=adamm"}), AllOf(HasSubstr("optimizer: type"), HasSubstr("adamw, adam")));
  EXPECT_THAT(error_with({"training.optimizer=3"}),
              HasSubstr("training: optimizer: must be a name, or keys and values"));
  EXPECT_THAT(error_with({"training.schedule=[noam]"}), HasSubstr("{type: NAME"));
  EXPECT_THAT(error_with({"model=3"}), HasSubstr("{type: NAME}"));
  EXPECT_THAT(error_with({"training.loss_scale=big"}), HasSubstr("expected keys and values")) << "it has no type";
}

TEST(TrainingConfig, ValuesOfTheWrongKindAreNamed) {
  EXPECT_THAT(error_with({"training.updates=many"}), AllOf(HasSubstr("updates"), HasSubstr("whole number")));
  EXPECT_THAT(error_with({"training.label_smoothing=1.5"}), AllOf(HasSubstr("label_smoothing"), HasSubstr("1.5")));
  EXPECT_THAT(error_with({"training.schedule.type=warp"}), AllOf(HasSubstr("warp"), HasSubstr("inverse-sqrt")));
  EXPECT_THAT(error_with({"validation.metrics=[bleu, meteor]"}), HasSubstr("metrics"));
  EXPECT_THAT(error_with({"data.train.source=3"}), HasSubstr("source"));
  EXPECT_THAT(error_with({"training.accumulate=0"}), HasSubstr("accumulate"));
  EXPECT_THAT(error_with({"checkpoint.keep=0"}), HasSubstr("keep"));
}

TEST(TrainingConfig, WhatIsMissingIsNamed) {
  core::Json tree = minimal();
  tree.erase("output");
  EXPECT_THROW(read_training_config(tree, "x"), core::Error);
  tree = minimal();
  tree["data"].erase("train");
  EXPECT_THROW(read_training_config(tree, "x"), core::Error);
  EXPECT_THROW(read_training_config(core::Json("text"), "x"), core::Error);
}

TEST(TrainingConfig, CombinationsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(error_with({"training.updates=0"}), HasSubstr("never end"));
  EXPECT_THAT(error_with({"training.updates=0", "training.epochs=1", "training.schedule.type=linear"}),
              HasSubstr("training.updates"));
  EXPECT_THAT(error_with({"validation.patience=3"}), HasSubstr("data.validation"));
  EXPECT_THAT(error_with({"data.maximum_length=600"}), HasSubstr("set data.maximum_length to 512 or less"));
  EXPECT_THAT(error_with({"training.batch_tokens=100"}), HasSubstr("batch_tokens"));
  EXPECT_THAT(error_with({"training.batch_tokens=auto"}), HasSubstr("say with training.memory"));
  EXPECT_THAT(error_with({"training.batch_tokens=many"}), HasSubstr("or auto"));
  EXPECT_THAT(error_with({"training.memory=2GB"}), HasSubstr("with batch_tokens: auto only"));
  EXPECT_THAT(error_with({"training.batch_tokens=auto", "training.memory=2"}), HasSubstr("as 500MB or 2GiB"));
  EXPECT_THAT(error_with({"validation.metrics=[chrf]", "validation.metric=bleu"}), HasSubstr("bleu"));
  EXPECT_THAT(error_with({"data.train.source=[a, b]"}), HasSubstr("pairs"));
  EXPECT_THAT(error_with({"data.train.weights=[1, 2]"}), HasSubstr("list of 1 numbers"));
  EXPECT_THAT(error_with({"data.train.weights=[0]"}), HasSubstr("weights"));
  EXPECT_THAT(error_with({"data.train.weights=[x]"}), HasSubstr("weights"));
  EXPECT_THAT(error_with({"data.validation={source: a, target: b, weights: [2]}"}), HasSubstr("weights"));
  EXPECT_THAT(error_with({"checkpoint.average=3"}), HasSubstr("average_of"));
}

TEST(TrainingConfig, ValidatesByUpdatesOrByEpochs) {
  EXPECT_EQ(with({"validation.every=70"}).validation.every, 70);
  EXPECT_EQ(with({"validation.every=70"}).validation.every_epochs, 0);
  EXPECT_EQ(with({"validation.every=epoch"}).validation.every_epochs, 1);
  EXPECT_EQ(with({"validation.every={epochs: 4}"}).validation.every_epochs, 4);
  EXPECT_EQ(with({"validation.every.epochs=5"}).validation.every_epochs, 5);
  EXPECT_EQ(with({"validation.every={epochs: 4}"}).validation.every, 0);
  EXPECT_NO_THROW(with({"validation.every=epoch", "validation.patience=2", "data.validation={source: v, target: w}"}));
  EXPECT_THAT(error_with({"validation.every=epochs"}),
              AllOf(HasSubstr("validation: every"), HasSubstr("epoch"), HasSubstr("updates")));
  EXPECT_THAT(error_with({"validation.every=1.5"}), HasSubstr("validation: every"));
  EXPECT_THAT(error_with({"validation.every=-1"}), HasSubstr("validation: every"));
  EXPECT_THAT(error_with({"validation.every={epochs: 0}"}), HasSubstr("epochs"));
  EXPECT_THAT(error_with({"validation.every={epoch: 1}"}), HasSubstr("epochs"));
  EXPECT_THAT(error_with({"validation.every={}"}), HasSubstr("epochs"));
}

TEST(TrainingConfig, SamplesAreANumberOrFirstAndRandomOnes) {
  const auto samples = [](const std::string& value) {
    const SampleConfig read = with({"validation.samples=" + value}).validation.samples;
    return std::tuple(read.first, read.random, read.in_metrics);
  };
  EXPECT_EQ(samples("7"), std::tuple(7, 0, false));
  EXPECT_EQ(samples("{first: 1, random: 3}"), std::tuple(1, 3, true));
  EXPECT_EQ(samples("{random: 3}"), std::tuple(2, 3, true)) << "the default of first";
  EXPECT_THAT(error_with({"validation.samples=some"}),
              AllOf(HasSubstr("validation: samples"), HasSubstr("{first: N, random: N}")));
  EXPECT_THAT(error_with({"validation.samples=1001"}), AllOf(HasSubstr("samples"), HasSubstr("1000")));
  EXPECT_THAT(error_with({"validation.samples={first: -1}"}), AllOf(HasSubstr("samples"), HasSubstr("first")));
  EXPECT_THAT(error_with({"validation.samples={randon: 1}"}), AllOf(HasSubstr("randon"), HasSubstr("random")));
}

TEST(TrainingConfig, ADumpSpellsValidationAsItWasGiven) {
  const auto dumped = [](const std::vector<std::string>& assignments) {
    const core::Json dump = to_json(with(assignments));
    EXPECT_EQ(to_json(read_training_config(dump, "dump")), dump);
    return std::pair(dump["validation"]["every"], dump["validation"]["samples"]);
  };
  EXPECT_EQ(dumped({}), std::pair(core::Json(1000), core::Json(2)));
  EXPECT_EQ(dumped({"validation.every=epoch", "validation.samples={random: 1}"}),
            std::pair(core::Json("epoch"), core::Json({{"first", 2}, {"random", 1}})));
  EXPECT_EQ(dumped({"validation.every={epochs: 3}", "validation.samples=0"}),
            std::pair(core::Json({{"epochs", 3}}), core::Json(0)));
}

/// Adds the values of the tree by their dotted paths.
void flatten(const core::Json& tree, const std::string& path, std::map<std::string, core::Json>& values) {
  for (const auto& [key, value] : tree.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_object())
      flatten(value, name, values);
    else
      values[name] = value;
  }
}

std::map<std::string, core::Json> flat(const core::Json& tree) {
  std::map<std::string, core::Json> values;
  flatten(tree, "", values);
  return values;
}

/// Of the example, as --dump-config shows it.
std::map<std::string, core::Json> resolved_example() {
  const std::string file = dragoman::testing::in_source("examples/multi30k/train.yml");
  const TrainingConfig config = read_training_config(core::load_yaml(file), file);
  return flat(resolved_configuration(config, make_environment(testing::host())));
}

/// The page of the reference is written from these keys, and tells users what a file may set.
TEST(TrainingConfig, TheReferenceHasEveryKeyOfADump) {
  const std::vector<std::string>& known = known_keys();
  const std::map<std::string, core::Json> dumped = resolved_example();
  EXPECT_GT(dumped.size(), 100U);
  for (const auto& [key, value] : dumped) {
    // A key whose value may be an object, such as data.train, is described as a whole.
    const bool explained =
        std::ranges::any_of(known, [&](const std::string& name) { return key == name || key.starts_with(name + "."); });
    EXPECT_TRUE(explained) << key;
  }
}

/// golden/multi30k_recipe.yml is the dump of the recipe with which the published results were made. The example sets
/// few keys, so a new default would change the recipe unnoticed. Keys that did not exist then are not compared.
TEST(TrainingConfig, TheExampleIsTheRecipeOfThePublishedResults) {
  std::map<std::string, core::Json> now = resolved_example();
  const std::string golden = dragoman::testing::in_source("tests/training/golden/multi30k_recipe.yml");
  for (const auto& [key, value] : flat(core::load_yaml(golden))) EXPECT_EQ(now[key], value) << key;
}

TEST(TrainingConfig, TheSmallestExampleIsTheRecipeThatItSaysItIs) {
  const std::string file = dragoman::testing::in_source("examples/multi30k/smallest.yml");
  const TrainingConfig config = read_training_config(core::load_yaml(file), file);
  const core::Json model = resolved_configuration(config, make_environment(testing::host()))["model"];
  EXPECT_EQ(model["d_model"], 64);
  EXPECT_EQ(model["feed_forward"], 256);
  EXPECT_EQ(model["heads"], 8);
  EXPECT_EQ(model["encoder_layers"], 4);
  EXPECT_EQ(model["decoder_layers"], 4);
  EXPECT_EQ(model["tying"], "all");
  EXPECT_EQ(config.training.epochs, 128);
  EXPECT_EQ(config.data.begin + config.data.end, "\U0001D106\U0001D107");
  EXPECT_EQ(config.validation.every_epochs, 1);
  EXPECT_EQ(config.validation.samples.first, 2);
  EXPECT_EQ(config.validation.samples.random, 3);
}

TEST(TrainingConfig, OnlySomeKeysAffectResults) {
  const core::Json before = keys_that_affect_results(with({}));
  for (const char* harmless :
       {"threads=7", "output=elsewhere", "training.updates=99", "training.epochs=3", "checkpoint.every=1",
        "checkpoint.keep=9", "data.train.source=moved.de", "validation.every=3", "validation.every=epoch",
        "validation.samples={random: 4}", "training.report_every=1"})
    EXPECT_EQ(keys_that_affect_results(with({harmless})), before) << harmless;
  for (const char* harmful :
       {"training.seed=2", "training.batch_tokens=1024", "training.schedule.learning_rate=1", "model.d_model=8",
        "training.optimizer.beta1=0.5", "data.maximum_length=99", "data.bpe_dropout=0.1", "device=reference"})
    EXPECT_NE(keys_that_affect_results(with({harmful})), before) << harmful;
  const std::vector<std::string> cosine = {"training.schedule.type=cosine", "training.schedule.warmup=1"};
  EXPECT_NE(keys_that_affect_results(with(cosine)),
            keys_that_affect_results(with({cosine[0], cosine[1], "training.updates=11"})))
      << "the end shapes a cosine";
}

}  // namespace
}  // namespace dragoman::training
