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

/// The bundled plugins that there are; those who test a GPU elsewhere have brought none.
HostOptions with_plugins() {
  HostOptions options;
  if (const std::string ssru = testing::built("ssru_plugin"); std::filesystem::exists(ssru)) options.plugins = {ssru};
  return options;
}

/// With the device twice: as "cuda", which runs every step, and, where there is such a thing, as "captured", which
/// makes the kernel calls of equal steps again.
Host& cuda_host() {
  static Host host{with_plugins()};
  static const bool added = [] {
    host.runtime().add(testing::make_cuda_backend());
    if (const auto captured = testing::make_capturing_cuda_backend()) host.runtime().add(captured);
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
