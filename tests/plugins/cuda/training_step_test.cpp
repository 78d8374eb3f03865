#include "emulated_backend.h"

#include <gtest/gtest.h>

#include <dragoman/core/parallel.h>
#include <dragoman/core/random.h>
#include <dragoman/training/loss.h>
#include <dragoman/transformer/transformer.h>

// The step of a training on the emulated device: how many kernels round operands, and that rounding less often changes
// no bit.
namespace dragoman::backend::cuda::of_training_step {
namespace {

using testing::EmulatedCuda;
using Steps = testing::HiddenBackend::Steps;

constexpr std::int32_t kVocabulary = 40;
/// Of linear layers: in each layer of the encoder the projections of attention (one for queries, keys and values, one
/// for the output) and two of the feed-forward network, in each of the decoder three more.
constexpr std::uint64_t kLinears = 4 + 7;

training::Batch some_pairs() {
  training::EncodedPairs pairs;
  for (std::uint64_t i = 0; i < 2; ++i)
    for (auto* side : {&pairs.source, &pairs.target}) {
      std::vector<std::int32_t> ids(2 + core::random_below(6, 1, side == &pairs.source ? 0 : 1, i), 0);
      for (std::size_t k = 0; k < ids.size(); ++k)
        ids[k] = static_cast<std::int32_t>(3 + core::random_below(kVocabulary - 3, 2, i, k));
      ids.back() = 2;
      side->append(ids);
    }
  training::Batch batch;
  batch.assign(pairs, std::vector<std::uint32_t>{0, 1}, 1, 16);
  return batch;
}

/// Roundings by a kernel of their own: the parameters, and the hidden states of the loss.
constexpr std::uint64_t kRounded = 2;
/// Layers with a dropout after the activation function.
constexpr std::uint64_t kDropped = 2;

/// A model with its gradients, on a device.
class TrainingStep : public ::testing::TestWithParam<Steps> {
 protected:
  TrainingStep() {
    nn::ParameterStore& parameters = model_->parameters();
    parameters.allocate(memory_, tensor::DType::kF32, backend_.kernels().device());
    parameters.initialise(1);
    parameters.attach_gradients(memory_);
  }

  std::unique_ptr<tensor::Context> make_context(const tensor::KernelTable& kernels, tensor::ComputeType type,
                                                bool recomputes = false) {
    auto context = std::make_unique<tensor::Context>(kernels, memory_, tensor::DType::kF32, executor_);
    if (&kernels == &backend_.kernels()) context->set_recorder(backend_.make_recorder(*context));
    autograd::training_mode(*context).set_compute_type(type);
    autograd::training_mode(*context).set_recomputes(recomputes);
    return context;
  }

  /// The gradients of `batches` micro-batches, which are added up.
  std::vector<float> gradients(tensor::Context& context, int batches = 1) {
    nn::ParameterStore& parameters = model_->parameters();
    parameters.begin_gradients();
    for (int i = 0; i < batches; ++i)
      loss_ = training::accumulate_gradients(context, *model_, batch_, 0.1, 1.0 / 20,
                                             {.seed = 3, .step = static_cast<std::uint64_t>(i)});
    parameters.finish_gradients();
    return values_of(parameters.flat_gradients());
  }
  /// As an optimiser would, at the same place.
  void change_parameters(float factor) {
    const tensor::Tensor flat = model_->parameters().flat_values();
    std::vector<float> values = values_of(flat);
    for (float& value : values) value *= factor;
    memory_.copy_in(flat.data, values.data(), values.size() * sizeof(float));
  }

  EmulatedCuda backend_{GetParam() == Steps::kRun ? "cuda" : "captured", GetParam()};
  tensor::DeviceMemory& memory_ = backend_.memory(0);
  core::SequentialExecutor executor_;
  std::unique_ptr<nn::Seq2SeqModel> model_ = transformer::make_transformer(
      {.source_vocabulary = kVocabulary, .target_vocabulary = kVocabulary},
      core::Json{{"d_model", 32},
                 {"heads", 1},
                 {"feed_forward", 64},
                 {"encoder_layers", 1},
                 {"decoder_layers", 1},
                 {"dropout", {{"embedding", 0.1}, {"sub_layer", 0.1}, {"activation", 0.1}, {"attention", 0.1}}}});
  training::Batch batch_ = some_pairs();
  ops::LossSums loss_;

 private:
  std::vector<float> values_of(const tensor::Tensor& x) {
    std::vector<float> values(static_cast<std::size_t>(x.size()));
    memory_.copy_out(values.data(), x.data, values.size() * sizeof(float));
    return values;
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, TrainingStep, ::testing::Values(Steps::kRun, Steps::kReplay), [](const auto& steps) {
  return std::string(steps.param == Steps::kRun ? "run" : "replayed");
});

/// Without these kernels ops round an operand in each product: two of a linear layer forward and two backward, and six
/// of the loss. With them the kernels that compute the inputs of layers round them, too. Then the hidden states of the
/// loss and all parameters remain. The plain products leave a dropout, and the rounding after it, to other kernels.
TEST_P(TrainingStep, RoundsEachOperandOnce) {
  tensor::KernelTable each_time(backend_.kernels());
  each_time.erase(ops::kProjectionLoss.name);
  each_time.erase(ops::kRoundParameters.name);
  each_time.erase(ops::kDroppedLinear.name);
  for (const auto& [type, recomputes] :
       {std::pair(tensor::ComputeType::kBF16, false), std::pair(tensor::ComputeType::kF16, true)}) {
    const auto roundings = [&](tensor::Context& context, std::vector<float>& made) {
      made = gradients(context);
      const std::uint64_t before = testing::emulation::launches("NarrowRows");
      EXPECT_EQ(gradients(context), made);
      return testing::emulation::launches("NarrowRows") - before;
    };
    // Layers that are recomputed; the projection of the encoder's states is not.
    const std::uint64_t again = recomputes ? kLinears - 1 : 0;
    std::vector<float> before, after;
    EXPECT_EQ(roundings(*make_context(each_time, type, recomputes), before), 4 * kLinears + 2 * again + 6);
    const ops::LossSums loss = loss_;
    const std::uint64_t of_plain = GetParam() == Steps::kRun ? kDropped * (recomputes ? 2 : 1) : 0;
    EXPECT_EQ(roundings(*make_context(backend_.kernels(), type, recomputes), after), kRounded + of_plain);
    EXPECT_EQ(after, before);
    EXPECT_EQ(loss_.loss, loss.loss);
  }
}

/// A layer's first pass has no tape, and its second one must have the same bits all the same.
TEST_P(TrainingStep, RecomputedLayersHaveTheBitsOfKeptOnes) {
  for (const tensor::ComputeType type : {tensor::ComputeType::kF32, tensor::ComputeType::kBF16}) {
    const std::vector<float> kept = gradients(*make_context(backend_.kernels(), type));
    const ops::LossSums loss = loss_;
    EXPECT_EQ(gradients(*make_context(backend_.kernels(), type, true)), kept) << name_of(type);
    EXPECT_EQ(loss_.loss, loss.loss) << name_of(type);
  }
}

TEST_P(TrainingStep, SeesWhatTheLastUpdateHasMadeOfTheParameters) {
  const auto context = make_context(backend_.kernels(), tensor::ComputeType::kBF16);
  std::vector<float> last;
  for (int update = 0; update < 4; ++update) {
    const std::vector<float> actual = gradients(*context, 2);
    EXPECT_NE(actual, last);
    EXPECT_EQ(actual, gradients(*make_context(backend_.kernels(), tensor::ComputeType::kBF16), 2)) << update;
    last = actual;
    change_parameters(0.9F);
  }
  EXPECT_EQ(testing::emulation::replays(backend_).replayed > 0, GetParam() == Steps::kReplay);
}

}  // namespace
}  // namespace dragoman::backend::cuda::of_training_step
