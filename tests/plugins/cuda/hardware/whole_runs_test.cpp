#include "cuda_backend.h"
#include "fake_cuda_runtime.h"
#include "small_task.h"
#include "streams.h"
#include "test_data.h"

#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/engine/translation_engine.h>
#include <dragoman/plugins/load_model.h>

// The whole backend as a GPU has it, with lazy streams: what is not waited for has not happened.
namespace dragoman::backend::cuda {
namespace {

namespace fake = testing::fake_cuda;

class WholeRuns : public ::testing::Test {
 protected:
  WholeRuns() {
    testing::emulation::set_lazy_streams(true);
    backend_->configure({.batch_invariant = true});  // there is no cuBLASLt for emulated devices
    host_.runtime().add(backend_);
  }
  ~WholeRuns() override {
    EXPECT_EQ(fake::take_fault(), "");
    testing::emulation::set_lazy_streams(false);
  }

  std::shared_ptr<CudaBackend> backend_ = std::make_shared<CudaBackend>();
  plugins::Host host_{plugins::HostOptions{}};
};

/// The recipe of examples/multi30k in small: bf16, a moving average, validations, checkpoints that are averaged, and a
/// search for the best length penalty at the end.
TEST_F(WholeRuns, ATrainingWithValidationsAveragesAndTuning) {
  const testing::TemporaryFolder folder;
  const training::testing::SmallTask task(folder.path(), 40);
  const auto config =
      task.config({"device=cuda", "training.compute=bf16", "training.row_bucket=16", "training.ema_decay=0.9",
                   "training.updates=12", "validation.every=4", "validation.metrics=[bleu, chrf]",
                   "validation.metric=bleu", "validation.compute=auto", "validation.samples={first: 2, random: 3}",
                   "checkpoint.every=4", "checkpoint.average=2", "checkpoint.average_of=best", "checkpoint.export=f16",
                   "validation.tune={alpha: [1, 1.4], beam_size: [2, 4]}"});
  const auto summary = training::Trainer(config, training::make_environment(host_), training::StartMode::kFresh).run();
  EXPECT_LT(summary.training_loss, 3);
}

TEST_F(WholeRuns, WorkersThatTranslateAtATime) {
  const auto translate = [&](const char* device, tensor::ComputeType type) {
    core::SequentialExecutor executor;
    const auto loaded = plugins::load_model(testing::source_folder() / "examples/multi30k/model", host_,
                                            {.device = host_.device(device)});
    {
      const auto context = host_.runtime().make_context(host_.device(device), executor);
      loaded.model->parameters().prepare(*context, type);
    }
    engine::TranslationEngine engine(host_.runtime(), *loaded.model, {.threads = 3, .device = host_.device(device)});
    std::vector<std::vector<std::int32_t>> found(12);
    engine::Client client(engine);
    const auto search = std::make_shared<const decoding::SearchPlan>(decoding::DecodingOptions{.beam_size = 3});
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::vector<std::int32_t> source =
          loaded.source_tokenizer->encode(i % 3 == 0 ? "Ja." : "Ein Hund läuft über eine grüne Wiese.");
      source.push_back(loaded.model->spec().end);
      client.submit(engine::TranslationRequest{.source = source, .line = i, .search = search},
                    [&found, i](const engine::TranslationResult& result) {
                      if (!result.error) found[i] = result.hypotheses.front().tokens;
                    });
    }
    client.wait();
    return found;
  };
  EXPECT_EQ(translate("cuda", tensor::ComputeType::kF32), translate("cpu", tensor::ComputeType::kF32));
}

/// Such steps run kernel by kernel: the training's numbers are the same, and the log has one line about it.
TEST_F(WholeRuns, StepsThatCannotBeRecordedRunWithoutThat) {
  const auto train = [&](std::vector<std::string>& warnings) {
    const testing::TemporaryFolder folder;
    const training::testing::SmallTask task(folder.path(), 40);
    training::TrainerEnvironment environment = training::make_environment(host_);
    environment.log = [&](core::LogLevel level, std::string_view message) {
      if (level == core::LogLevel::kWarning) warnings.emplace_back(message);
    };
    const auto config = task.config({"device=cuda", "training.compute=bf16", "training.row_bucket=16",
                                     "training.accumulate=2", "training.updates=10", "validation.every=0"});
    return training::Trainer(config, std::move(environment), training::StartMode::kFresh).run().training_loss;
  };
  std::vector<std::string> expected_warnings;
  const double expected = train(expected_warnings);
  bool told = false;
  for (const auto how :
       {fake::CaptureFailure::kBegin, fake::CaptureFailure::kEnd, fake::CaptureFailure::kInstantiation}) {
    const int failed_before = fake::failed_captures();
    fake::fail_captures(3, how);
    std::vector<std::string> warnings;
    EXPECT_EQ(train(warnings), expected);
    EXPECT_EQ(fake::failed_captures(), failed_before + 3);
    const auto of_graphs = std::ranges::count_if(warnings, [](const std::string& line) {
      return line.starts_with("device cuda: a step could not be recorded as a graph and is launched kernel by kernel");
    });
    EXPECT_EQ(of_graphs, told ? 0 : 1) << ::testing::PrintToString(warnings);
    told = true;
  }
}

TEST_F(WholeRuns, GraphsCountAsMemoryThatIsTaken) {
  const auto translate = [&](const std::shared_ptr<CudaBackend>& backend, plugins::Host& host) {
    core::SequentialExecutor executor;
    const auto loaded = plugins::load_model(testing::source_folder() / "examples/multi30k/model", host,
                                            {.device = host.device("cuda")});
    const auto context = host.runtime().make_context(host.device("cuda"), executor);
    loaded.model->parameters().prepare(*context, tensor::ComputeType::kF32);
    decoding::ModelStepper stepper(*loaded.model, *context);
    std::vector<decoding::Sentence> sentences(1);
    sentences[0].source = loaded.source_tokenizer->encode("Ein Hund läuft.");
    sentences[0].source.push_back(loaded.model->spec().end);
    const auto found = decoding::decode_all(stepper, sentences, decoding::DecodingOptions{.beam_size = 2});
    return std::pair(found.front().front().tokens, dynamic_cast<DeviceMemory&>(backend->memory(0)).use().taken());
  };
  const auto [tokens, taken] = translate(backend_, host_);
  // A translation without graphs takes less, and one that has no room for them is the same.
  fake::fail_captures(100, fake::CaptureFailure::kBegin);
  const auto [same, less] = translate(backend_, host_);
  fake::fail_captures(0, fake::CaptureFailure::kBegin);
  EXPECT_EQ(same, tokens);
  EXPECT_THAT(backend_->take_notices(), ::testing::ElementsAre(::testing::HasSubstr("could not be recorded")));
  ASSERT_LT(less, taken);
  EXPECT_EQ((taken - less) % (64 << 10), 0U);
  backend_->configure({.memory = less + 1000});
  EXPECT_EQ(translate(backend_, host_), std::pair(tokens, less));
  EXPECT_TRUE(backend_->take_notices().empty()) << "it is told once";
}

TEST_F(WholeRuns, GiveAllMemoryBack) {
  const int device = fake::allocations();
  std::thread([&] {
    core::SequentialExecutor executor;
    const auto loaded = plugins::load_model(testing::source_folder() / "examples/multi30k/model", host_,
                                            {.device = host_.device("cuda")});
    EXPECT_GT(fake::allocations(), device);
  }).join();
  EXPECT_EQ(fake::allocations(), device);
}

}  // namespace
}  // namespace dragoman::backend::cuda
