#include "cuda_backend_for_tests.h"
#include "small_task.h"
#include "test_data.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/plugins/conformance.h>
#include <dragoman/plugins/load_model.h>

// The CUDA backend above the level of single ops, where tests/models/ops has it: the kit, searches and training. It
// computes what the CPU does in another order, so values are close and texts are equal.
namespace dragoman::plugins {
namespace {

using decoding::DecodingOptions;
using tensor::Device;
using testing::emulation::Order;

/// The bundled plugins that there are, with their kernels for the devices below: of this build, compiled with the
/// emulation, or, where a GPU is tested, as they are installed or among what was packed.
HostOptions with_plugins() {
  if (testing::emulates_cuda())
    return {.plugins = {testing::built("emulated_plugins") + "/ssru.so",
                        testing::built("emulated_plugins") + "/ssru-captured.so"}};
  HostOptions options;
  for (const std::filesystem::path& ssru : {std::filesystem::path(testing::built("ssru_plugin")),
                                            testing::source_folder() / "lib/dragoman/plugins/ssru.so"})
    if (options.plugins.empty() && std::filesystem::exists(ssru)) options.plugins = {ssru.string()};
  return options;
}

/// With the device twice: as "cuda", which runs every step, and, where there is such a thing, as "captured", which
/// makes the kernel calls of equal steps again. They come as a plugin's do, so kernels that wait for them are
/// installed.
Host& cuda_host() {
  static Host host{with_plugins()};
  static const bool added = [] {
    Registrar registrar;
    registrar.add(testing::make_cuda_backend());
    if (const auto captured = testing::make_capturing_cuda_backend()) registrar.add(captured);
    host.registry().add("cuda", registrar.take());
    return true;
  }();
  static_cast<void>(added);
  return host;
}

std::vector<std::string> cuda_devices() {
  std::vector<std::string> names;
  for (const Device device : cuda_host().runtime().devices())
    if ((device.backend() == "cuda" || device.backend() == "captured") && device.number() == 0)
      names.push_back(name_of(device));
  return names;
}

class CudaModel : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, CudaModel, ::testing::Values("transformer", "ssru"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(CudaModel, Conforms) {
  const testing::TemporaryFolder scratch;
  if (cuda_host().loader().find("ssru") == nullptr && std::string_view(GetParam()) == "ssru")
    GTEST_SKIP() << "the plugin was not brought";
  const ModelEntry& model = cuda_host().registry().models().get(GetParam());
  int checks = 0;
  for (const Verdict& verdict : check_model(cuda_host(), model, {.scratch_folder = scratch.path()})) {
    EXPECT_TRUE(verdict.passed) << verdict.device << ", " << verdict.check << ": " << verdict.detail;
    checks += verdict.device == "cuda" || verdict.device == "captured" ? 1 : 0;
  }
  EXPECT_GT(checks, 10);
}

/// Every op of a bundled plugin has a kernel for CUDA beside that for the CPU.
TEST(Cuda, HasTheKernelsOfBundledPlugins) {
  const runtime::Runtime& runtime = cuda_host().runtime();
  std::set<std::string_view> on_cuda;
  runtime.kernels(cuda_host().device("cuda")).for_each_name([&](std::string_view name) { on_cuda.insert(name); });
  int of_plugins = 0;
  runtime.kernels(Device::kCpu).for_each_name([&](std::string_view name) {
    if (name.find('.') == name.npos) return;  // PLUGIN.OP
    ++of_plugins;
    EXPECT_TRUE(on_cuda.contains(name)) << name;
  });
  if (cuda_host().loader().find("ssru") != nullptr) {
    EXPECT_GT(of_plugins, 1);
  }
}

struct Search {
  const char* name;
  DecodingOptions options;
};
class CudaSearch : public ::testing::TestWithParam<Search> {
 protected:
  static std::vector<std::vector<decoding::Hypothesis>> translate(
      const std::string& device_name, tensor::ComputeType type = tensor::ComputeType::kF32) {
    const Device device = cuda_host().device(device_name);
    core::SequentialExecutor executor;
    const LoadedModel loaded =
        load_model(testing::source_folder() / "examples/multi30k/model", cuda_host(), {.device = device});
    const auto context = cuda_host().runtime().make_context(device, executor);
    loaded.model->parameters().prepare(*context, type);
    std::vector<decoding::Sentence> sentences;
    for (const char* text : {"Ein Hund läuft über eine grüne Wiese.", "Zwei Männer spielen Fußball.", "Ja."}) {
      sentences.push_back({.id = sentences.size(), .source = loaded.source_tokenizer->encode(text), .line = 0});
      sentences.back().source.push_back(loaded.model->spec().end);
    }
    decoding::ModelStepper stepper(*loaded.model, *context);
    return decoding::decode_all(stepper, sentences, GetParam().options, {.maximum_rows = 9});
  }
};
INSTANTIATE_TEST_SUITE_P(
    Searches, CudaSearch,
    ::testing::Values(
        Search{"greedy_with_edits", {.strategy = "greedy", .repetition_penalty = 1.3, .no_repeat_ngram = 2}},
        Search{"beam", {.beam_size = 4, .n_best = 3, .suppress_unknown = true}},
        Search{"beam_with_alignment", {.beam_size = 2, .coverage_penalty = 0.3, .want_alignment = true}},
        Search{"sampling", {.strategy = "sampling", .n_best = 2, .sampling = {.temperature = 1.2, .seed = 5}}},
        Search{"nucleus", {.strategy = "sampling", .sampling = {.top_k = 40, .top_p = 0.8, .seed = 6}}}),
    [](const auto& search) { return std::string(search.param.name); });

TEST_P(CudaSearch, FindsWhatTheCpuFinds) {
  const auto expected = translate("cpu");
  ASSERT_FALSE(cuda_devices().empty());
  for (const std::string& device : cuda_devices()) {
    const auto actual = translate(device);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(actual[i].size(), expected[i].size());
      for (std::size_t n = 0; n < expected[i].size(); ++n) {
        EXPECT_EQ(actual[i][n].tokens, expected[i][n].tokens) << device;
        EXPECT_NEAR(actual[i][n].score, expected[i][n].score, 1e-4) << device;
        ASSERT_EQ(actual[i][n].alignment.size(), expected[i][n].alignment.size()) << device;
        for (std::size_t t = 0; t < expected[i][n].alignment.size(); ++t)
          EXPECT_THAT(actual[i][n].alignment[t],
                      ::testing::Pointwise(::testing::FloatNear(1e-4F), expected[i][n].alignment[t]))
              << device;
      }
    }
  }
}

/// Integers are summed exactly, so int8 differs from the CPU's by what lies between products only.
TEST_P(CudaSearch, FindsWhatTheCpuFindsInInt8) {
  if (cuda_host().runtime().inference_type(Device::kCpu, tensor::ComputeChoice::kI8) != tensor::ComputeType::kI8)
    GTEST_SKIP() << "this processor has activations of 7 bits, the GPU those of 8";
  const auto expected = translate("cpu", tensor::ComputeType::kI8);
  const auto actual = translate("cuda", tensor::ComputeType::kI8);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i].front().tokens, expected[i].front().tokens);
}

/// Most steps of a long search are graphs: the same rows, and histories of the same bucket.
TEST(Cuda, MostDecodingStepsAreGraphs) {
  const tensor::Backend* captured = cuda_host().runtime().find("captured");
  if (captured == nullptr) GTEST_SKIP() << "nobody counts the graphs of a GPU";
  const testing::emulation::Replays before = testing::emulation::replays(*captured);
  const Device device = cuda_host().device("captured");
  core::SequentialExecutor executor;
  const LoadedModel loaded =
      load_model(testing::source_folder() / "examples/multi30k/model", cuda_host(), {.device = device});
  const auto context = cuda_host().runtime().make_context(device, executor);
  loaded.model->parameters().prepare(*context, tensor::ComputeType::kF32);
  decoding::Sentence sentence{.id = 0, .source = loaded.source_tokenizer->encode("Ja."), .line = 0};
  sentence.source.push_back(loaded.model->spec().end);
  decoding::ModelStepper stepper(*loaded.model, *context);
  decoding::decode_all(stepper, {sentence}, {.strategy = "greedy", .minimum_length = 60, .maximum_length = 60}, {});
  const testing::emulation::Replays after = testing::emulation::replays(*captured);
  EXPECT_GE(after.replayed - before.replayed, 50U);
  EXPECT_LE(after.run - before.run, 12U);
}

/// What is asked of the second device takes nothing of the first, and finds the same.
TEST(Cuda, AnotherDeviceCanBeChosen) {
  const auto backend = testing::make_two_cuda_devices();
  if (backend == nullptr) GTEST_SKIP() << "there are no two devices";
  Host host{HostOptions{}};
  host.runtime().add(backend);
  core::SequentialExecutor executor;
  std::vector<std::vector<std::int32_t>> found;
  for (const char* name : {"cpu", "cuda:1", "cuda"}) {
    const Device device = host.device(name);
    const LoadedModel loaded =
        load_model(testing::source_folder() / "examples/multi30k/model", host, {.device = device});
    const auto context = host.runtime().make_context(device, executor);
    loaded.model->parameters().prepare(*context, tensor::ComputeType::kF32);
    decoding::Sentence sentence{.id = 0, .source = loaded.source_tokenizer->encode("Ein Hund läuft."), .line = 0};
    sentence.source.push_back(loaded.model->spec().end);
    decoding::ModelStepper stepper(*loaded.model, *context);
    found.push_back(decoding::decode_all(stepper, {sentence}, {.strategy = "greedy"}, {})[0].front().tokens);
    EXPECT_EQ(found.back(), found.front()) << name;
    EXPECT_EQ(testing::emulation::bytes_taken(*backend, 1) > 0, std::string_view(name) == "cuda:1") << name;
    EXPECT_EQ(testing::emulation::bytes_taken(*backend, 0) > 0, std::string_view(name) == "cuda") << name;
  }
}

/// Memory that runs out ends a training with one line that names budget and remedy. Its checkpoint stays, and the run
/// goes on to the bytes of one that never was short of memory.
TEST(Cuda, TooLittleMemoryEndsARunThatCanGoOn) {
  const auto backend = testing::make_two_cuda_devices();
  if (backend == nullptr) GTEST_SKIP() << "the memory of a GPU is not bounded by tests";
  constexpr std::uint64_t kUpdates = 4;
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path());
  const auto train = [&](const std::shared_ptr<tensor::Backend>& of, const std::string& run, std::uint64_t memory,
                         training::StartMode mode, std::uint64_t updates) {
    Host host{HostOptions{}};
    host.runtime().add(of);
    host.device("cuda", {.memory = memory});
    const auto config = task.config({"output=" + task.file(run).string(), "device=cuda",
                                     "training.updates=" + std::to_string(updates), "validation.every=0"});
    return training::Trainer(config, training::make_environment(host), mode).run();
  };
  using training::StartMode;
  train(backend, "whole", 0, StartMode::kFresh, kUpdates);
  train(testing::make_two_cuda_devices(), "short", 0, StartMode::kFresh, 2);
  const std::string before = task.checkpoint_bytes("short", 2);
  ASSERT_FALSE(before.empty());
  try {
    train(testing::make_two_cuda_devices(), "short", 1'000'000, StartMode::kResume, kUpdates);
    FAIL() << "1 MB sufficed";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("device 0: "), ::testing::HasSubstr("1.0 MB"),
                                               ::testing::HasSubstr("training.device_memory"),
                                               ::testing::HasSubstr("smaller batches")));
  }
  EXPECT_EQ(task.checkpoint_bytes("short", 2), before);
  train(testing::make_two_cuda_devices(), "short", 0, StartMode::kResume, kUpdates);
  EXPECT_TRUE(task.checkpoint_bytes("short", kUpdates) == task.checkpoint_bytes("whole", kUpdates));
}

class CudaTraining : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, CudaTraining, ::testing::Values("fp32", "bf16", "fp16"),
                         [](const auto& type) { return std::string(type.param); });

/// The same bits whatever the order of threads and blocks, and whether steps are run or made again; a loss like the
/// CPU's.
TEST_P(CudaTraining, GivesTheSameBitsOnEveryRunAndTheLossOfTheCpu) {
  constexpr int kUpdates = 6;
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path());
  const auto train = [&](const std::string& run, const std::string& device, const std::string& compute = GetParam()) {
    const auto config =
        task.config({"output=" + task.file(run).string(), "device=" + device, "training.compute=" + compute,
                     "training.accumulate=2", "training.ema_decay=0.9", "training.updates=" + std::to_string(kUpdates),
                     "validation.every=0", "training.row_bucket=16"});
    return training::Trainer(config, training::make_environment(cuda_host()), training::StartMode::kFresh).run();
  };
  const auto cpu = train("cpu", "cpu", std::string(GetParam()) == "fp16" ? "fp32" : GetParam());
  const auto cuda = train("forward", "cuda");
  testing::emulation::set_order(Order::kBackward);
  train("backward", "cuda");
  testing::emulation::set_order(Order::kShuffled, 7);
  train("shuffled", cuda_devices().back());
  testing::emulation::set_order(Order::kForward);
  const std::string expected = task.checkpoint_bytes("forward", kUpdates);
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(task.checkpoint_bytes("backward", kUpdates) == expected);
  EXPECT_TRUE(task.checkpoint_bytes("shuffled", kUpdates) == expected);
  EXPECT_NEAR(cuda.training_loss, cpu.training_loss, 1e-3 * cpu.training_loss);
}

/// Gradients in fp16 that overflow at first: the scale comes down, the updates are left out, and the loss then falls as
/// that of fp32 does.
TEST(CudaTraining, InFp16SurvivesOverflows) {
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path());
  const auto train = [&](const std::string& run, const std::vector<std::string>& assignments) {
    std::vector<std::string> all{"output=" + task.file(run).string(),
                                 "device=cuda",
                                 "training.updates=40",
                                 "validation.every=0",
                                 "training.batch_tokens=200",
                                 "training.report_every=1"};
    all.insert(all.end(), assignments.begin(), assignments.end());
    return training::Trainer(task.config(all), training::make_environment(cuda_host()), training::StartMode::kFresh)
        .run();
  };
  const auto fp32 = train("fp32", {});
  const auto fp16 = train(
      "fp16", {"training.compute=fp16", "training.loss_scale={initial: 268435456, most: 268435456, grow_after: 15}"});
  EXPECT_LT(fp32.training_loss, 2.2);  // guessing among 12 pieces is 2.5
  EXPECT_NEAR(fp16.training_loss, fp32.training_loss, 0.1);
  int left_out = 0;
  std::set<std::int64_t> scales;
  core::LineReader reader(task.file("fp16") / "metrics.jsonl");
  for (std::string line; reader.next(line);) {
    const core::Json json = core::parse_json(line, "metrics.jsonl");
    left_out += json["type"] == "loss_scale" ? 1 : 0;
    if (json["type"] == "training") scales.insert(json["loss_scale"].get<std::int64_t>());
  }
  EXPECT_GT(left_out, 2);
  EXPECT_LT(left_out, 20);
  EXPECT_GT(scales.size(), 1U) << "it grew again";
}

}  // namespace
}  // namespace dragoman::plugins
