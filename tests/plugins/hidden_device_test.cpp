#include "hidden_backend.h"
#include "kernels.h"  // of the SSRU plugin
#include "small_task.h"
#include "test_data.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>
#include <dragoman/plugins/conformance.h>
#include <dragoman/plugins/load_model.h>

// What "it would work on a GPU" means on a machine without one: everything below runs on a device whose memory the host
// cannot read, and must give the bytes of the CPU.
namespace dragoman::plugins {
namespace {

using decoding::DecodingOptions;
using tensor::Device;

using Steps = testing::HiddenBackend::Steps;

/// A host that has the device twice, with the kernels of the SSRU plugin, too: as "hidden", which runs every step, and
/// as "replaying", which makes the kernel calls of equal steps again without the code that made them first.
class HiddenHost {
 public:
  HiddenHost() : host_({.plugins = {testing::built("ssru_plugin")}}) {
    for (const auto& [name, steps] : {std::pair{"hidden", Steps::kRun}, {"replaying", Steps::kReplay}}) {
      const tensor::KernelTable& cpu = host_.runtime().kernels(Device::kCpu);
      auto backend = std::make_shared<testing::HiddenBackend>(cpu, name, steps);
      backend->wrap(ssru::kScan, cpu);
      backend->wrap(ssru::kScanBackward, cpu);
      host_.runtime().add(std::move(backend));
    }
  }
  Host& host() { return host_; }
  testing::RecorderCounts& counts() {
    return dynamic_cast<testing::HiddenBackend&>(*host_.runtime().find("replaying")).counts();
  }

 private:
  Host host_;
};

HiddenHost& hidden() {
  static HiddenHost instance;
  return instance;
}

class HiddenDevice : public ::testing::TestWithParam<const char*> {
 protected:
  static Device device() { return hidden().host().device(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, HiddenDevice, ::testing::Values("hidden", "replaying"),
                         [](const auto& device) { return std::string(device.param); });

TEST(HiddenDevices, EveryModelConforms) {
  const testing::TemporaryFolder scratch;
  for (const auto& registered : hidden().host().registry().models().all()) {
    const ModelEntry& model = registered->entry;
    int checks = 0;
    for (const Verdict& verdict : check_model(hidden().host(), model, {.scratch_folder = scratch.path()})) {
      EXPECT_TRUE(verdict.passed) << verdict.subject << " on " << verdict.device << ", " << verdict.check << ": "
                                  << verdict.detail;
      checks += verdict.device == "hidden" || verdict.device == "replaying" ? 1 : 0;
    }
    EXPECT_GT(checks, 10) << model.name;
  }
}

/// The bundled model on one device, packed as for translation.
class Translation {
 public:
  explicit Translation(Device device)
      : loaded_(load_model(testing::in_source("examples/multi30k/model"), hidden().host(), {.device = device})),
        context_(hidden().host().runtime().make_context(device, executor_)) {
    loaded_.model->parameters().prepare(*context_, tensor::ComputeType::kF32);
  }

  std::vector<std::vector<decoding::Hypothesis>> translate(const DecodingOptions& options, bool prefixed) {
    std::vector<decoding::Sentence> sentences;
    for (const char* text :
         {"Ein Hund läuft über eine grüne Wiese.", "Zwei Männer spielen Fußball, während drei Kinder zusehen.", "Ja.",
          "Eine Frau in einem roten Kleid sitzt auf einer Bank und liest ein Buch über die Geschichte der Stadt."}) {
      sentences.push_back({.id = sentences.size(), .source = ids(text), .line = sentences.size()});
      if (prefixed) sentences.back().target_prefix = {sentences.back().source[0], 20};
    }
    decoding::ModelStepper stepper(*loaded_.model, *context_);
    return decoding::decode_all(stepper, sentences, options, {.maximum_rows = 9});
  }

  std::vector<decoding::TargetScore> score() {
    const std::vector<std::int32_t> source = ids("Ein Hund läuft."), target = ids("Ein Hund schläft nicht.");
    const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(source.size())};
    const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(target.size())};
    return decoding::score(*loaded_.model, *context_, {source, source_offsets}, {target, target_offsets});
  }

 private:
  std::vector<std::int32_t> ids(std::string_view text) const {
    std::vector<std::int32_t> result = loaded_.source_tokenizer->encode(text);
    result.push_back(loaded_.model->spec().end);
    return result;
  }

  core::SequentialExecutor executor_;
  LoadedModel loaded_;
  std::unique_ptr<tensor::Context> context_;
};

TEST_P(HiddenDevice, EverySearchFindsWhatItFindsOnTheCpu) {
  Translation on_cpu(Device::kCpu);
  Translation on_hidden(device());
  const std::pair<const char*, DecodingOptions> searches[] = {
      {"greedy", {.strategy = "greedy"}},
      {"greedy with edits", {.strategy = "greedy", .repetition_penalty = 1.3, .no_repeat_ngram = 2}},
      {"beam", {.beam_size = 5, .n_best = 3, .suppress_unknown = true}},
      {"beam with attention", {.coverage_penalty = 0.3, .want_alignment = true}},
      {"sampling", {.strategy = "sampling", .n_best = 2, .sampling = {.temperature = 1.2, .seed = 5}}},
      {"nucleus", {.strategy = "sampling", .sampling = {.top_k = 40, .top_p = 0.8, .seed = 6}}},
  };
  for (const auto& [name, options] : searches)
    for (const bool prefixed : {false, true}) {
      const auto expected = on_cpu.translate(options, prefixed);
      const auto actual = on_hidden.translate(options, prefixed);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(actual[i].size(), expected[i].size()) << name;
        for (std::size_t n = 0; n < expected[i].size(); ++n) {
          EXPECT_EQ(actual[i][n].tokens, expected[i][n].tokens) << name;
          EXPECT_EQ(actual[i][n].token_log_probabilities, expected[i][n].token_log_probabilities) << name;
          EXPECT_EQ(actual[i][n].alignment, expected[i][n].alignment) << name;
          EXPECT_EQ(actual[i][n].score, expected[i][n].score) << name;
        }
      }
    }
}

TEST_P(HiddenDevice, ScoresAsTheCpuDoes) {
  const auto expected = Translation(Device::kCpu).score();
  const auto actual = Translation(device()).score();
  ASSERT_EQ(actual.size(), 1U);
  EXPECT_EQ(actual[0].token_log_probabilities, expected[0].token_log_probabilities);
}

/// Most steps of a long search are replays: the same rows, and histories of the same bucket. A step runs twice for each
/// new bucket, and each time that the pool grows.
TEST(HiddenDevices, MostDecodingStepsAreReplayed) {
  Translation on_cpu(Device::kCpu);
  Translation on_replaying(hidden().host().device("replaying"));
  const DecodingOptions options{.strategy = "greedy", .minimum_length = 250, .maximum_length = 250};
  hidden().counts() = {};
  const auto actual = on_replaying.translate(options, false);
  const testing::RecorderCounts counts = hidden().counts();
  const auto expected = on_cpu.translate(options, false);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(actual[i].front().tokens, expected[i].front().tokens);
    EXPECT_EQ(actual[i].front().token_log_probabilities, expected[i].front().token_log_probabilities);
  }
  EXPECT_GE(counts.replayed, 7 * (counts.replayed + counts.run) / 8)
      << counts.replayed << " replayed, " << counts.run << " run";
}

struct TrainedModel {
  std::string type;
  std::string compute;
};
class ReplayedTraining : public ::testing::TestWithParam<TrainedModel> {};
INSTANTIATE_TEST_SUITE_P(Models, ReplayedTraining,
                         ::testing::Values(TrainedModel{"transformer", "fp32"}, TrainedModel{"transformer", "bf16"},
                                           TrainedModel{"ssru", "fp32"}),
                         [](const auto& model) { return model.param.type + "_" + model.param.compute; });

/// Sentences have two to six words, so no batch has the shape of another but by its buckets, which both devices use.
TEST_P(ReplayedTraining, IsMostOfTheSteps) {
  constexpr int kUpdates = 400;
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path(), 400);
  const auto train = [&](const std::string& device) {
    const auto config = task.config(
        {"output=" + task.file(device).string(), "device=" + device, "model.type=" + GetParam().type,
         "training.compute=" + GetParam().compute, "training.updates=" + std::to_string(kUpdates),
         "training.ema_decay=0.9",
         "training.row_bucket=" + std::to_string(device == "cpu" ? testing::HiddenBackend::kRowBucket : 0)});
    training::Trainer(config, training::make_environment(hidden().host()), training::StartMode::kFresh).run();
  };
  train("cpu");
  hidden().counts() = {};
  train("replaying");
  const testing::RecorderCounts counts = hidden().counts();
  const std::string expected = task.checkpoint_bytes("cpu", kUpdates);
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(task.checkpoint_bytes("replaying", kUpdates) == expected);
  EXPECT_GE(counts.replayed, 7 * (counts.replayed + counts.run) / 8)
      << counts.replayed << " replayed, " << counts.run << " run";
}

/// What the host decides anew in each step (LayerDrop) must not be recorded, and what no update changes (a frozen
/// table) stays so when an update is made again.
TEST_P(HiddenDevice, TrainsVariantsToTheBytesOfTheCpu) {
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path());
  std::ofstream(task.file("vectors.txt")) << "</s> 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
  const std::vector<std::vector<std::string>> variants = {
      {"model.dropout.layer=0.4", "model.encoder_layers=2"},
      {"model.query_scaling=early", "model.tying=source-target", "model.output_width=8", "model.encoder_layers=2",
       "model.encoder_tied_layers=[0, 0]", "training.ema_decay=0.9", "training.optimizer.weight_decay=0.1",
       "data.embeddings.source={file: " + task.file("vectors.txt").string() + ", frozen: true}"}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto train = [&](const std::string& device) {
      std::vector<std::string> assignments = variants[i];
      const std::string run = device + std::to_string(i);
      for (const std::string& assignment :
           {"output=" + task.file(run).string(), "device=" + device, std::string("training.row_bucket=16")})
        assignments.push_back(assignment);
      training::Trainer(task.config(assignments), training::make_environment(hidden().host()),
                        training::StartMode::kFresh)
          .run();
      return task.checkpoint_bytes(run, 24);
    };
    const std::string expected = train("cpu");
    ASSERT_FALSE(expected.empty());
    EXPECT_TRUE(train(GetParam()) == expected) << i;
  }
}

/// Training with dropout, accumulation, validation, a moving average, an average of checkpoints and the export, once
/// without a pause and once stopped and resumed.
TEST_P(HiddenDevice, TrainsToTheBytesOfTheCpu) {
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path());
  const auto train = [&](const std::string& run, const std::string& device, std::optional<std::uint64_t> stop_at) {
    const auto config =
        task.config({"output=" + task.file(run).string(), "device=" + device, "training.accumulate=2",
                     "training.ema_decay=0.9", "validation.every=6", "checkpoint.average=2", "training.row_bucket=16"});
    training::TrainerEnvironment environment = training::make_environment(hidden().host());
    if (stop_at) {
      std::stop_source stop;
      environment.progress = [&](const core::Progress& progress) {
        if (progress.stage == "train" && progress.done == *stop_at) stop.request_stop();
      };
      EXPECT_THROW(training::Trainer(config, environment, training::StartMode::kFresh).run(stop.get_token()),
                   core::Error);
      environment.progress = {};
    }
    const auto mode = stop_at ? training::StartMode::kResume : training::StartMode::kFresh;
    return training::Trainer(config, environment, mode).run();
  };
  const auto cpu = train("cpu", "cpu", {});
  const auto whole = train("whole", GetParam(), {});
  const auto resumed = train("resumed", GetParam(), 13);
  const std::string expected = task.checkpoint_bytes("cpu", 24);
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(task.checkpoint_bytes("whole", 24) == expected);
  EXPECT_TRUE(task.checkpoint_bytes("resumed", 24) == expected) << "after a pause";
  for (const auto& summary : {whole, resumed}) {
    EXPECT_EQ(summary.training_loss, cpu.training_loss);
    EXPECT_EQ(summary.best->value, cpu.best->value);
  }
  for (const char* folder_name : {"best", "last", "average"}) {
    const auto file = std::filesystem::path(folder_name) / "model.safetensors";
    EXPECT_TRUE(core::read_file(task.file("whole") / file) == core::read_file(task.file("cpu") / file)) << folder_name;
  }
}

/// A sentence whose embedding overflows comes once in each epoch. On such a device the update behind it is queued
/// before anybody knows, and must leave no trace. Batches are not filled up, which would be with such tokens.
TEST_P(HiddenDevice, LeavesOutWhatTheCpuLeavesOut) {
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path());
  const std::vector<std::string> overflow = task.add_overflow();
  for (const std::string policy : {"skip", "restore"}) {
    const auto train = [&](const std::string& device) {
      std::vector<std::string> all{"output=" + task.file(device + policy).string(),
                                   "device=" + device,
                                   "training.row_bucket=1",
                                   "training.on_non_finite=" + policy,
                                   "training.ema_decay=0.9",
                                   "training.clip_value=0.05",
                                   "training.report_every=1",
                                   "validation.metrics=[]"};
      all.insert(all.end(), overflow.begin(), overflow.end());
      training::Trainer(task.config(all), training::make_environment(hidden().host()), training::StartMode::kFresh)
          .run();
    };
    train("cpu");
    train(GetParam());
    const std::string expected = task.checkpoint_bytes("cpu" + policy, 24);
    ASSERT_FALSE(expected.empty());
    EXPECT_TRUE(task.checkpoint_bytes(GetParam() + policy, 24) == expected) << policy;
    for (const char* type : {"non_finite", "training"}) {
      const auto lines = task.lines_of("cpu" + policy, type);
      EXPECT_GE(lines.size(), 2U);
      EXPECT_EQ(task.lines_of(GetParam() + policy, type), lines) << policy;
    }
  }
}

TEST_P(HiddenDevice, NoUpdateWaitsForTheDevice) {
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path(), 400);
  const auto& backend = dynamic_cast<testing::HiddenBackend&>(*hidden().host().runtime().find(GetParam()));
  constexpr std::uint64_t kFirst = 8, kLast = 20;
  std::size_t before = 0, after = 0;
  training::TrainerEnvironment environment = training::make_environment(hidden().host());
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage != "train") return;
    if (progress.done == kFirst) before = backend.hidden_memory().counts().waits;
    if (progress.done == kLast) after = backend.hidden_memory().counts().waits;
  };
  training::Trainer(
      task.config({"output=" + task.file("run").string(), std::string("device=") + GetParam(), "training.accumulate=3",
                   "training.ema_decay=0.9", "training.clip_value=0.05", "checkpoint.every=0", "validation.every=0"}),
      environment, training::StartMode::kFresh)
      .run();
  EXPECT_GT(before, 0U);
  EXPECT_EQ(after - before, 0U) << "in " << kLast - kFirst << " updates";
}

}  // namespace
}  // namespace dragoman::plugins
