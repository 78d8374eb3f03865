#include "small_task.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {
namespace {

using tensor::Device;

struct Subject {
  const char* name;
  const char* type;
  core::Json options;
};

core::Json transformer(const core::Json& changes) {
  core::Json options = {{"d_model", 8},
                        {"heads", 2},
                        {"feed_forward", 12},
                        {"encoder_layers", 4},
                        {"decoder_layers", 4},
                        {"dropout", {{"embedding", 0.1}, {"sub_layer", 0.2}, {"activation", 0.1}, {"attention", 0.1}}}};
  if (!changes.empty()) options.update(changes, true);
  return options;
}

const std::vector<Subject> kSubjects = {
    {"pre", "transformer", transformer({})},
    {"post", "transformer", transformer({{"norm", "post"}})},
    {"gated", "transformer", transformer({{"activation", "swiglu"}})},
    {"gelu", "transformer", transformer({{"activation", "gelu"}, {"query_scaling", "early"}})},
    {"without_final_norm", "transformer", transformer({{"final_norm", false}})},
    {"layer_drop", "transformer", transformer({{"dropout", {{"layer", 0.4}}}})},
    {"tied_layers", "transformer",
     transformer({{"encoder_tied_layers", {0, 1, 0, 1}}, {"decoder_tied_layers", {0, 0, 0, 0}}})},
    {"t5",
     "t5",
     {{"d_model", 8},
      {"heads", 2},
      {"head_width", 6},
      {"feed_forward", 12},
      {"encoder_layers", 3},
      {"decoder_layers", 3},
      {"dropout", 0.2}}},
};

/// A model, and a batch of pairs.
class Recomputing : public ::testing::TestWithParam<Subject> {
 protected:
  /// Of three updates' batches.
  std::vector<double> gradients(Device device, bool recomputes) {
    const runtime::Runtime& runtime = testing::host().runtime();
    core::SequentialExecutor executor;
    context_ = runtime.make_context(device, executor);
    autograd::training_mode(*context_).set_recomputes(recomputes);
    const auto model =
        make_environment(testing::host())
            .make_model(GetParam().type, {.source_vocabulary = 12, .target_vocabulary = 12}, GetParam().options);
    nn::ParameterStore& parameters = model->parameters();
    parameters.allocate(runtime.memory(device), runtime.float_type(device), device);
    parameters.initialise(1);
    parameters.attach_gradients(runtime.memory(device));
    parameters.begin_gradients();
    losses_.clear();
    for (std::uint32_t step = 0; step < 3; ++step) {
      Batch batch;
      batch.assign(pairs_, std::vector<std::uint32_t>{step, step + 3, step + 6}, 1);
      losses_.push_back(accumulate_gradients(*context_, *model, batch, 0.1, 1.0, {.seed = 3, .step = step}).loss);
    }
    parameters.finish_gradients();
    const auto view = tensor::HostView::of(parameters.memory(), parameters.flat_gradients());
    std::vector<double> values;
    for (std::int64_t i = 0; i < view.tensor().cols; ++i) values.push_back(tensor::element(view.tensor(), 0, i));
    return values;
  }

  void SetUp() override {
    for (std::uint64_t i = 0; i < 9; ++i) {
      pairs_.source.append(sequence(i, 0));
      pairs_.target.append(sequence(i, 1));
    }
  }

  static std::vector<std::int32_t> sequence(std::uint64_t i, std::uint64_t side) {
    std::vector<std::int32_t> ids;
    for (std::uint64_t k = 0; k < 3 + core::random_below(4, 8, side, i); ++k)
      ids.push_back(static_cast<std::int32_t>(3 + core::random_below(9, i, side, k)));
    ids.push_back(2);
    return ids;
  }

  EncodedPairs pairs_;
  std::vector<double> losses_;
  std::unique_ptr<tensor::Context> context_;
};

TEST_P(Recomputing, GivesTheSameBytes) {
  for (const Device device : {Device::kCpu, Device::kReference}) {
    const std::vector<double> kept = gradients(device, false);
    const std::vector<double> losses = losses_;
    const std::vector<double> again = gradients(device, true);
    EXPECT_EQ(losses_, losses) << tensor::name_of(device);
    ASSERT_EQ(again.size(), kept.size());
    std::size_t different = 0;
    double largest = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      different += again[i] == kept[i] ? 0U : 1U;
      largest = std::max(largest, std::fabs(kept[i]));
    }
    EXPECT_EQ(different, 0U) << "of " << kept.size() << " on " << tensor::name_of(device);
    EXPECT_GT(largest, 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Recomputing, ::testing::ValuesIn(kSubjects),
                         [](const auto& subject) { return std::string(subject.param.name); });

/// Twelve layers, so that what layers keep decides, and a batch of some thousand tokens.
TEST(RecomputingMemory, IsAFractionOfWhatLayersKeep) {
  const auto& runtime = testing::host().runtime();
  const auto model =
      make_environment(testing::host())
          .make_model(
              "transformer", {.source_vocabulary = 12, .target_vocabulary = 12},
              transformer({{"d_model", 32},
                           {"feed_forward", 128},
                           {"encoder_layers", 12},
                           {"decoder_layers", 12},
                           {"dropout", {{"embedding", 0}, {"sub_layer", 0}, {"activation", 0}, {"attention", 0}}}}));
  tensor::DeviceMemory& memory = runtime.memory(Device::kCpu);
  model->parameters().allocate(memory, tensor::DType::kF32, Device::kCpu);
  model->parameters().initialise(1);
  model->parameters().attach_gradients(memory);
  EncodedPairs pairs;
  for (int i = 0; i < 100; ++i) {
    pairs.source.append(std::vector<std::int32_t>(30, 5));
    pairs.target.append(std::vector<std::int32_t>(30, 6));
  }
  std::vector<std::uint32_t> all(100);
  for (std::uint32_t i = 0; i < 100; ++i) all[i] = i;
  Batch batch;
  batch.assign(pairs, all, 1);
  const auto bytes = [&](bool recomputes) {
    core::SequentialExecutor executor;
    const auto context = runtime.make_context(Device::kCpu, executor);
    autograd::training_mode(*context).set_recomputes(recomputes);
    for (int i = 0; i < 3; ++i) accumulate_gradients(*context, *model, batch, 0, 1, {});
    return context->arena().bytes_reserved() + autograd::training_mode(*context).gradient_memory().bytes_reserved();
  };
  const std::size_t kept = bytes(false), again = bytes(true);
  EXPECT_LT(again, kept * 2 / 5);
  // For each token, a layer of the encoder keeps 10 d floats (two sums, queries, keys and values, the attention, the
  // inner values of 4 d), a layer of the decoder 15 d, and each of the three attentions the weights of 2 heads and 30
  // keys. The inputs of sub-layers share memory (ops::NormMemory).
  constexpr std::size_t kTokens = 3000;
  constexpr std::size_t kActivations = kTokens * 12 * ((10 + 15) * 32 + 3 * 60) * sizeof(float);
  EXPECT_LT(kept, kActivations * 13 / 10) << kActivations;
}

}  // namespace
}  // namespace dragoman::training
