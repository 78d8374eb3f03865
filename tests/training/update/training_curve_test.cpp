#include "small_task.h"
#include "test_data.h"

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/loss.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/training/schedule.h>

namespace dragoman::training {
namespace {

// A tiny transformer that learns to turn sentences round, compared with the same model, batches, loss and optimiser in
// PyTorch. golden/make_training_curve.py made the file, and says how; what follows is said there in the same words, in
// Python.

constexpr std::int32_t kVocabulary = 14;
constexpr std::int64_t kPairsPerUpdate = 8;
constexpr std::int64_t kPairs = 64;
constexpr std::int64_t kUpdates = 300;
constexpr double kSmoothing = 0.1;
constexpr double kClipNorm = 1;

/// The numbers of POSIX's rand48, which any language computes.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_((seed << 16) + 0x330E) {}
  /// In [0, 1).
  double uniform() {
    state_ = (state_ * 0x5DEECE66D + 0xB) & 0xFFFFFFFFFFFF;
    return static_cast<double>(state_) / 281474976710656.0;
  }
  std::int32_t below(std::int32_t bound) { return static_cast<std::int32_t>(uniform() * bound); }

 private:
  std::uint64_t state_;
};

EncodedPairs sentences() {
  EncodedPairs pairs;
  Draws draws(1);
  for (std::int64_t i = 0; i < kPairs; ++i) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(3 + draws.below(6)));
    for (std::int32_t& token : tokens) token = 3 + draws.below(kVocabulary - 3);
    std::vector<std::int32_t> reversed(tokens.rbegin(), tokens.rend());
    tokens.push_back(2);
    reversed.push_back(2);
    pairs.source.append(tokens);
    pairs.target.append(reversed);
  }
  return pairs;
}

/// In the order of their names. Gains are about 1 and biases about 0.
void draw_parameters(const nn::ParameterStore& store) {
  std::map<std::string, const nn::Parameter*> by_name;
  for (const nn::Parameter& parameter : store.all()) by_name[parameter.name] = &parameter;
  Draws draws(2);
  for (const auto& [name, parameter] : by_name)
    for (std::int64_t i = 0; i < parameter->rows; ++i)
      for (std::int64_t j = 0; j < parameter->cols; ++j) {
        const double draw = 2 * draws.uniform() - 1;
        const bool gain = parameter->rank == 1 && name.find("norm.weight") != std::string::npos;
        const double scale = parameter->rank == 1 ? 0.1 : std::sqrt(3.0 / static_cast<double>(parameter->cols));
        tensor::set_element(parameter->value, i, j, (gain ? 1 : 0) + scale * draw);
      }
}

struct Curve {
  std::vector<double> losses, gradient_norms;
};

Curve train_on(tensor::Device device, tensor::ComputeType type = tensor::ComputeType::kF32) {
  const runtime::Runtime& runtime = testing::host().runtime();
  core::SequentialExecutor executor;
  const auto context = runtime.make_context(device, executor);
  autograd::training_mode(*context).set_compute_type(type);
  const auto model = make_environment(testing::host())
                         .make_model("transformer",
                                     {.source_vocabulary = kVocabulary,
                                      .target_vocabulary = kVocabulary,
                                      .maximum_source_length = 16,
                                      .maximum_target_length = 16},
                                     {{"d_model", 16},
                                      {"heads", 2},
                                      {"feed_forward", 32},
                                      {"encoder_layers", 1},
                                      {"decoder_layers", 1},
                                      {"norm", "pre"},
                                      {"activation", "relu"},
                                      {"layer_norm_epsilon", 1e-5},
                                      {"tying", "all"},
                                      {"dropout", 0.0}});
  nn::ParameterStore& parameters = model->parameters();
  parameters.allocate(context->memory(), context->float_type(), device);
  draw_parameters(parameters);
  parameters.attach_gradients(context->memory());
  Optimizer optimizer(parameters, context->memory(),
                      {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .weight_decay = 0.01}, kClipNorm, 0);
  const ScheduleOptions schedule{.kind = ScheduleKind::kInverseSqrt, .learning_rate = 0.01, .warmup = 30};

  const EncodedPairs pairs = sentences();
  Batch batch;
  Curve curve;
  for (std::int64_t update = 1; update <= kUpdates; ++update) {
    std::vector<std::uint32_t> which;
    for (std::int64_t i = 0; i < kPairsPerUpdate; ++i)
      which.push_back(static_cast<std::uint32_t>(((update - 1) * kPairsPerUpdate + i) % kPairs));
    batch.assign(pairs, which, model->spec().decoder_start);
    const auto tokens = static_cast<double>(batch.target_tokens());
    parameters.begin_gradients();
    const ops::LossSums sums = accumulate_gradients(*context, *model, batch, kSmoothing, 1 / tokens, {});
    parameters.finish_gradients();
    optimizer.apply(*context, {.update = update, .learning_rate = learning_rate_at(update, schedule, {})});
    curve.losses.push_back(sums.loss / tokens);
    curve.gradient_norms.push_back(optimizer.last().wait().gradient_norm);
  }
  return curve;
}

struct Tolerance {
  std::size_t last_update;  ///< that is compared
  double loss, gradient_norm;
};

void expect_torch_curve(tensor::Device device, const Tolerance& tolerance) {
  const core::Json golden = core::load_json(dragoman::testing::golden_file("training_curve.json").string());
  const Curve curve = train_on(device);
  ASSERT_EQ(golden.at("updates").size(), golden.at("losses").size());
  for (std::size_t i = 0; i < golden.at("updates").size(); ++i) {
    const auto update = golden.at("updates")[i].get<std::size_t>();
    if (update > tolerance.last_update) break;
    const auto loss = golden.at("losses")[i].get<double>();
    const auto norm = golden.at("gradient_norms")[i].get<double>();
    EXPECT_NEAR(curve.losses.at(update - 1), loss, tolerance.loss * loss) << "update " << update;
    EXPECT_NEAR(curve.gradient_norms.at(update - 1), norm, tolerance.gradient_norm * norm) << "update " << update;
  }
  const double last = golden.at("losses").back().get<double>();
  EXPECT_NEAR(curve.losses.back(), last, 0.1 * last) << "it has learned as much";
}

/// Both compute in double precision. They were 1.2e-13 (losses) and 3.6e-12 (norms) apart.
TEST(TrainingCurve, OfTheReferenceIsThatOfPyTorch) {
  expect_torch_curve(tensor::Device::kReference, {.last_update = kUpdates, .loss = 1e-11, .gradient_norm = 1e-10});
}

/// Up to update 75 floats were 1.2e-7 and 1.7e-6 apart from doubles with AVX-512, AVX2 and the baseline. Soon after,
/// one of the roundings decides on which side of 0 a ReLU's input lies, and the curves part, by the same amount at
/// every level.
TEST(TrainingCurve, OfTheCpuIsThatOfPyTorch) {
  expect_torch_curve(tensor::Device::kCpu, {.last_update = 75, .loss = 2e-6, .gradient_norm = 3e-5});
}

/// The reference rounds the inputs of products and nothing else. Sums of floats differ from its sums of doubles, and
/// where that decides to which side the next product's input is rounded, the curves part. Where they end depends on the
/// last bits of all functions: 1.18 was seen where the exact curve ends at 1.03.
TEST(TrainingCurve, OfTheCpuInBf16IsThatOfTheReference) {
  const Curve expected = train_on(tensor::Device::kReference, tensor::ComputeType::kBF16);
  const Curve actual = train_on(tensor::Device::kCpu, tensor::ComputeType::kBF16);
  const Curve exact = train_on(tensor::Device::kReference);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(actual.losses[i], expected.losses[i], 1e-3 * expected.losses[i]) << "update " << i + 1;
    EXPECT_NEAR(actual.gradient_norms[i], expected.gradient_norms[i], 1e-2 * expected.gradient_norms[i])
        << "update " << i + 1;
  }
  EXPECT_NE(actual.losses.front(), exact.losses.front());
  EXPECT_NEAR(actual.losses.back(), exact.losses.back(), 0.25 * exact.losses.back()) << "it has learned as much";
}

}  // namespace
}  // namespace dragoman::training
