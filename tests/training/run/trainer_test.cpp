#include "trainer_fixture.h"

#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::train;
using testing::TrainerOn;

TEST_F(TrainerOn, LearnsToReverse) {
  const TrainingSummary summary = train(task_.config(
      {"training.updates=500", "training.label_smoothing=0", "training.clip_norm=0", "model.d_model=32",
       "model.dropout={embedding: 0, sub_layer: 0, activation: 0, attention: 0}", "training.batch_tokens=400",
       "training.schedule.warmup=60", "data.validation.source=" + task_.file("train.source").string(),
       "data.validation.target=" + task_.file("train.target").string()}));
  EXPECT_EQ(summary.updates, 500);
  EXPECT_LT(summary.training_loss, 0.05);
  ASSERT_TRUE(summary.best.has_value());
  EXPECT_GT(summary.best->value, 95) << "BLEU of decoded text against the training targets";
}

TEST_F(TrainerOn, LearnsToReverseWithAT5) {
  core::Json tree =
      task_.tree({"training.updates=500", "training.label_smoothing=0", "training.batch_tokens=400",
                  "training.schedule.warmup=60", "data.validation.source=" + task_.file("train.source").string(),
                  "data.validation.target=" + task_.file("train.target").string()});
  tree["model"] = {{"type", "t5"},
                   {"d_model", 32},
                   {"heads", 2},
                   {"head_width", 12},
                   {"feed_forward", 32},
                   {"encoder_layers", 1},
                   {"decoder_layers", 1},
                   {"dropout", 0},
                   {"relative_buckets", 8},
                   {"relative_distance", 12},
                   {"maximum_source_length", 32},
                   {"maximum_target_length", 32}};
  const TrainingSummary summary = train(read_training_config(tree, "small task"));
  EXPECT_LT(summary.training_loss, 0.1);
  ASSERT_TRUE(summary.best.has_value());
  EXPECT_GT(summary.best->value, 95) << "BLEU of decoded text against the training targets";
}

/// Sums over more rows may round otherwise, but what fills a batch up adds nothing to the loss or to an update.
TEST_F(TrainerOn, WhatFillsABatchUpDoesNotCount) {
  const auto losses = [&](int bucket) {
    const std::string run = "bucket" + std::to_string(bucket);
    const TrainingSummary summary =
        train(task_.config({output(run), "device=reference", "training.row_bucket=" + std::to_string(bucket),
                            "training.accumulate=2", "training.updates=12"}));
    return std::pair(summary.training_loss, summary.best->value);
  };
  const auto [loss, best] = losses(1);
  const auto [filled_loss, filled_best] = losses(16);
  EXPECT_NEAR(filled_loss, loss, 1e-9);
  EXPECT_NEAR(filled_best, best, 1e-6);
  EXPECT_THROW(task_.config({"training.row_bucket=81"}), core::Error) << "more than training.batch_tokens";
}

TEST_F(TrainerOn, BatchesAreAsLargeAsMemoryAllows) {
  const auto tokens_of = [&](const std::string& run) {
    return core::load_json((task_.file(run) / "run.json").string())["configuration"]["training"]["batch_tokens"]
        .get<std::int64_t>();
  };
  const auto fitted = [&](const std::string& run, const std::string& memory, const std::string& more,
                          const std::string& layers = "1") {
    train(task_.config({output(run), "training.batch_tokens=auto", "training.memory=" + memory, more,
                        "model.encoder_layers=" + layers, "model.decoder_layers=" + layers}));
    return tokens_of(run);
  };
  const std::int64_t some = fitted("some", "110MB", "training.updates=8");
  const std::int64_t twice = fitted("twice", "120MB", "training.updates=8");
  EXPECT_GT(some, 32);
  EXPECT_NEAR(static_cast<double>(twice) / static_cast<double>(some), 2, 0.5) << some << " and " << twice;
  // Recomputation pays where there are several layers: the backward pass needs all memory of one at a time.
  const std::int64_t kept = fitted("kept", "110MB", "training.updates=1", "4");
  const std::int64_t recomputed = fitted("recomputed", "110MB", "training.recompute=true", "4");
  EXPECT_GT(static_cast<double>(recomputed), 1.5 * static_cast<double>(kept)) << recomputed << " and " << kept;
  // It is the run that says so itself, and goes on as it began, whatever memory there is then.
  train(task_.config({output("said"), "training.updates=8", "training.batch_tokens=" + std::to_string(some)}));
  EXPECT_EQ(task_.checkpoint_bytes("said", 8), task_.checkpoint_bytes("some", 8));
  train(task_.config({output("some"), "training.updates=12", "training.batch_tokens=auto", "training.memory=1GB"}),
        StartMode::kResume);
  EXPECT_EQ(tokens_of("some"), some);
  const auto too_little = [&](const std::string& layers, const std::string& length) {
    return error_of([&] {
      train(task_.config({output("none" + layers), "training.batch_tokens=auto", "training.memory=100MB",
                          "model.encoder_layers=" + layers, "model.decoder_layers=" + layers,
                          "data.maximum_length=" + length, "model.maximum_source_length=" + length,
                          "model.maximum_target_length=" + length}));
    });
  };
  const std::string error = too_little("1", "32");
  EXPECT_THAT(error, AllOf(HasSubstr("training.memory: 100.0 MB has no room for one pair of data.maximum_length 32"),
                           Not(HasSubstr("training.recompute: true"))));
  EXPECT_THAT(too_little("4", "512"), HasSubstr("training.recompute: true")) << "that saves something there";
  // The advice is enough, and not much too much.
  constexpr std::string_view kAdvice = "give it at least ";
  const std::string least = error.substr(error.find(kAdvice) + kAdvice.size());
  const double megabytes = std::stod(least);
  EXPECT_THAT(least, HasSubstr(" MB")) << error;
  EXPECT_GT(megabytes, 100.5);
  EXPECT_LT(megabytes, 104);
  const std::string rounded_up =
      std::to_string(static_cast<int>(megabytes) + 1) + "MB";  // the option takes whole numbers
  EXPECT_GE(fitted("least", rounded_up, "training.updates=1"), 32);
}

TEST_F(TrainerOn, ThreadsDoNotChangeABit) {
  for (const std::string compute : {"fp32", "bf16"}) {
    const auto run = [&](int threads) { return compute + "_on" + std::to_string(threads); };
    for (const int threads : {1, 2, 3})
      train(task_.config({output(run(threads)), "threads=" + std::to_string(threads), "validation.every=10",
                          "training.ema_decay=0.9", "training.compute=" + compute}));
    const std::string one = task_.checkpoint_bytes(run(1), 24);
    ASSERT_FALSE(one.empty());
    EXPECT_EQ(one, task_.checkpoint_bytes(run(2), 24));
    EXPECT_EQ(one, task_.checkpoint_bytes(run(3), 24));
    EXPECT_EQ(metrics(run(1)), metrics(run(3)));
  }
  EXPECT_NE(task_.checkpoint_bytes("fp32_on1", 24), task_.checkpoint_bytes("bf16_on1", 24));
}

/// What `auto` was when the run began is what it goes on with: it stands in run.json, and a difference is refused.
TEST_F(TrainerOn, RecordsTheNumberTypeThatItComputesIn) {
  const auto recorded = [&](const std::string& run) { return core::load_json(task_.file(run) / "run.json"); };
  train(task_.config({output("auto"), "training.compute=auto", "training.updates=2"}));
  const bool bf16 = testing::host().runtime().training_type(tensor::Device::kCpu, tensor::ComputeChoice::kAuto) ==
                    tensor::ComputeType::kBF16;
  EXPECT_EQ(recorded("auto")["configuration"]["training"]["compute"], bf16 ? "bf16" : "fp32");
  train(
      task_.config({output("auto"), std::string("training.compute=") + (bf16 ? "bf16" : "fp32"), "training.updates=3"}),
      StartMode::kResume);
  EXPECT_THAT(error_of([&] {
                train(task_.config({output("auto"), std::string("training.compute=") + (bf16 ? "fp32" : "bf16"),
                                    "training.updates=4"}),
                      StartMode::kResume);
              }),
              HasSubstr("training.compute"));
}

TEST_F(TrainerOn, AnExportThatWouldHoldInfinityIsNoSuccess) {
  EXPECT_THAT(error_of([&] {
                train(task_.config({"training.schedule.learning_rate=100000", "training.schedule.type=constant",
                                    "training.schedule.warmup=0", "training.clip_norm=1", "checkpoint.export=f16",
                                    "training.updates=4"}));
              }),
              ::testing::AllOf(HasSubstr("could not be written"), HasSubstr("too large for F16")));
}

TEST_F(TrainerOn, SaysWhenTheRunEndsWithinItsWarmUp) {
  const auto warnings = [&](const std::vector<std::string>& assignments) {
    std::vector<std::string> said;
    TrainerEnvironment environment = make_environment(testing::host());
    environment.log = [&](core::LogLevel level, std::string_view text) {
      if (level == core::LogLevel::kWarning) said.emplace_back(text);
    };
    Trainer(task_.config(assignments), environment, StartMode::kFresh);
    return said;
  };
  EXPECT_THAT(warnings({output("a"), "training.updates=24", "training.schedule.warmup=24"}),
              ::testing::Contains(HasSubstr("within the warm-up of 24")));
  EXPECT_THAT(warnings({output("b"), "training.updates=0", "training.epochs=1", "training.schedule.warmup=4000"}),
              ::testing::Contains(HasSubstr("within the warm-up of 4000")));
  EXPECT_THAT(warnings({output("c"), "training.updates=24", "training.schedule.warmup=23"}), ::testing::IsEmpty());
}

TEST_F(TrainerOn, AConfigurationMadeInCppIsCheckedAsAFileIs) {
  TrainingConfig config = task_.config();
  config.training.report_every = 0;
  EXPECT_THAT(error_of([&] { train(config); }), HasSubstr("report_every"));
  config = task_.config();
  config.training.accumulate = 0;
  EXPECT_THAT(error_of([&] { train(config); }), HasSubstr("accumulate"));
  config = task_.config();
  config.training.updates = config.training.epochs = config.validation.patience = 0;
  EXPECT_THAT(error_of([&] { train(config); }), HasSubstr("would never end"));
}

TEST_F(TrainerOn, Int8IsNoTypeToTrainIn) {
  EXPECT_THAT(error_of([&] { task_.config({"training.compute=int8"}); }), HasSubstr("compute"));
}

class SampledRun : public TrainerOn {
 protected:
  std::vector<core::Json> samples_of(const std::string& run, const std::vector<std::string>& assignments) {
    std::vector<std::string> all{output(run), "validation.metrics=[chrf]"};
    all.insert(all.end(), assignments.begin(), assignments.end());
    TrainerEnvironment environment = make_environment(testing::host());
    environment.log = [&](core::LogLevel, std::string_view text) { log_.emplace_back(text); };
    train(task_.config(all), StartMode::kFresh, {}, environment);
    std::vector<core::Json> samples;
    for (const core::Json& line : metrics(run))
      if (line["type"] == "sample") samples.push_back(line);
    return samples;
  }

  std::vector<std::string> log_;
};

TEST_F(SampledRun, ShowsFirstAndRandomSentencesAtTheEndOfEveryEpoch) {
  const auto samples = samples_of("run", {"training.updates=0", "training.epochs=3", "validation.every=epoch",
                                          "validation.samples={first: 1, random: 2}"});
  ASSERT_EQ(samples.size(), 9U);
  std::set<std::string> sources;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const core::Json& sample = samples[i];
    EXPECT_EQ(sample["epoch"], i / 3 + 1) << "epochs that are complete";
    EXPECT_EQ(sample["random"], i % 3 > 0);
    const std::string source = sample["source"];
    EXPECT_EQ(sample["reference"], std::string(source.rbegin(), source.rend())) << "the task";
    EXPECT_THAT(log_, ::testing::IsSupersetOf({"source:     " + source,
                                               "prediction: " + sample["prediction"].get<std::string>(),
                                               "reference:  " + sample["reference"].get<std::string>()}));
    if (i % 3 == 0) {
      EXPECT_EQ(source, samples[0]["source"]);
    }
    sources.insert(source);
  }
  EXPECT_GT(sources.size(), 3U) << "not the same ones in each epoch";
  EXPECT_THAT(log_, ::testing::Contains(HasSubstr(", epoch 3: loss")));
}

TEST_F(SampledRun, TheSameSentencesComeInRunsOfOneSeed) {
  const std::vector<std::string> shared{"training.updates=0", "training.epochs=2", "validation.every={epochs: 2}",
                                        "validation.samples={first: 0, random: 2}"};
  const auto sources = [&](const std::string& run, const std::string& assignment) {
    std::vector<std::string> all = shared;
    all.push_back(assignment);
    std::vector<std::string> texts;
    for (const core::Json& sample : samples_of(run, all)) texts.push_back(sample["source"]);
    return texts;
  };
  const std::vector<std::string> texts = sources("one", "model.d_model=16");
  ASSERT_EQ(texts.size(), 2U) << "of epoch 2 alone";
  EXPECT_EQ(sources("two", "training.batch_tokens=160"), texts) << "by the epoch, however many updates it has";
  EXPECT_NE(sources("three", "training.seed=2"), texts);
}

TEST_F(SampledRun, ANumberOfSamplesLeavesTheMetricsAsTheyWere) {
  EXPECT_THAT(samples_of("run", {"validation.samples=3", "validation.every=6"}), ::testing::IsEmpty());
  EXPECT_EQ(
      std::count_if(log_.begin(), log_.end(), [](const std::string& text) { return text.starts_with("source:"); }),
      4 * 3);
  EXPECT_THAT(log_, ::testing::Contains(HasSubstr("update 12, epoch")));
}

TEST_F(TrainerOn, StopsEarly) {
  // Without a learning rate worth the name nothing improves: the first validation is the best.
  const TrainingSummary summary =
      train(task_.config({"training.updates=1000", "training.schedule.learning_rate=1e-30", "validation.every=5",
                          "validation.patience=3", "validation.metrics=[]"}));
  EXPECT_TRUE(summary.stopped_early);
  EXPECT_EQ(summary.updates, 20);
  EXPECT_EQ(summary.best.value().update, 5);
}

TEST_F(TrainerOn, CountsEpochs) {
  const TrainingSummary summary = train(task_.config({"training.updates=0", "training.epochs=2"}));
  EXPECT_EQ(summary.epochs, 2);
  EXPECT_FALSE(summary.stopped_early);
  EXPECT_EQ(summary.updates % 2, 0) << "both epochs have the same sentences, but may be cut differently";
}

TEST_F(TrainerOn, DivergenceIsReportedAndTheLastCheckpointStays) {
  const auto config = task_.config({"training.schedule={type: constant, learning_rate: 1e30, warmup: 0}",
                                    "training.updates=100", "training.clip_norm=0", "checkpoint.every=1"});
  EXPECT_THAT(error_of([&] { train(config); }),
              AllOf(HasSubstr("diverged"), HasSubstr("learning_rate"), HasSubstr("is kept")));
  EXPECT_FALSE(CheckpointStore(config.output).updates().empty());
}

TEST_F(TrainerOn, ExportsModelFoldersThatLoad) {
  const TrainingSummary summary = train(task_.config({"validation.every=8", "checkpoint.average=2"}));
  for (const char* name : {"best", "last", "average"}) {
    const auto folder = task_.file("run") / name;
    EXPECT_NO_THROW(formats::verify_checksums(folder)) << name;
    EXPECT_EQ(formats::ModelFolder::open(folder).config().model_type, "transformer");
    const std::string card = core::read_file(folder / "README.md");
    EXPECT_THAT(card, AllOf(HasSubstr("d_model"), HasSubstr("train:")));
  }
  EXPECT_THAT(core::read_file(task_.file("run") / "best/README.md"), HasSubstr("nrefs:1\\|case:mixed"))
      << "a cell of a table of Markdown";
  plugins::Host host;
  const plugins::LoadedModel last = plugins::load_model(task_.file("run") / "last", host);
  const auto checkpoint = formats::SafetensorsFile::open(summary.last_checkpoint / "model.safetensors");
  const nn::Parameter& parameter = last.model->parameters().all().front();
  const auto stored = checkpoint.read(parameter.name);
  EXPECT_EQ(std::memcmp(stored.data(), parameter.value.data, stored.size()), 0);
}

TEST_F(TrainerOn, AveragesTheParametersOfTheLastCheckpoints) {
  train(task_.config(
      {"checkpoint.average=2", "checkpoint.average_of=last", "checkpoint.every=8", "training.updates=24"}));
  const auto open = [&](const char* folder) {
    return formats::SafetensorsFile::open(task_.file("run") / folder / "model.safetensors");
  };
  const auto a = open("checkpoint-16");
  const auto b = open("checkpoint-24");
  const auto mean = open("average");
  for (const formats::StoredTensor& stored : mean.tensors()) {
    const auto values = [&](const formats::SafetensorsFile& file) {
      std::vector<float> result(static_cast<std::size_t>(stored.size));
      std::memcpy(result.data(), file.read(stored.name).data(), result.size() * sizeof(float));
      return result;
    };
    const auto left = values(a);
    const auto right = values(b);
    const auto found = values(mean);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], static_cast<float>((double{left[i]} + double{right[i]}) / 2)) << stored.name;
  }
}

TEST_F(TrainerOn, KeepsTheCheckpointsThatItWasAskedToKeep) {
  train(task_.config({"checkpoint.every=3", "checkpoint.keep=3"}));
  EXPECT_THAT(CheckpointStore(task_.file("run")).updates(), ::testing::ElementsAre(18, 21, 24));
}

TEST_F(TrainerOn, ReportsLossAndRate) {
  TrainerEnvironment environment = make_environment(testing::host());
  std::vector<core::Progress> seen;
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage == "train") seen.push_back(progress);
  };
  train(task_.config(), StartMode::kFresh, {}, environment);
  ASSERT_EQ(seen.size(), 24U);
  EXPECT_EQ(seen.back().done, 24U);
  EXPECT_EQ(seen.back().total, 24U);
  std::map<std::string, double> figures(seen[7].figures.begin(), seen[7].figures.end());
  EXPECT_DOUBLE_EQ(figures.at("lr"), 0.01) << "the end of the warm-up";
  EXPECT_GT(figures.at("tokens/s"), 0);
  EXPECT_GT(figures.at("loss"), 0);
}

TEST_F(TrainerOn, ABadModelKeyIsNamed) {
  EXPECT_THAT(error_of([&] { train(task_.config({"model.d_modell=8"})); }),
              AllOf(HasSubstr("model"), HasSubstr("d_model")));
  EXPECT_THAT(error_of([&] { train(task_.config({"model.type=transformr"})); }), HasSubstr("transformer"));
}

TEST_F(TrainerOn, AMissingSpecialTokenIsNamed) {
  EXPECT_THAT(error_of([&] { train(task_.config({"data.special_tokens.end=<eos>"})); }),
              AllOf(HasSubstr("<eos>"), HasSubstr("special_tokens.end")));
}

TEST_F(TrainerOn, ResolvesTheWholeConfiguration) {
  const core::Json resolved = resolved_configuration(task_.config(), make_environment(testing::host()));
  EXPECT_EQ(resolved["model"]["norm"], "pre");
  EXPECT_EQ(resolved["model"]["d_model"], 16);
  EXPECT_EQ(to_json(read_training_config(resolved, "resolved")), resolved);
}

}  // namespace
}  // namespace dragoman::training
