#include "small_task.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {
namespace {

using tensor::Device;

/// A small model on the double-precision device and a few pairs.
class Loss : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t i = 0; i < 9; ++i) {
      pairs_.source.append(sequence(i, 0));
      pairs_.target.append(sequence(i, 1));
    }
    model_ = make(0);
  }

  static std::vector<std::int32_t> sequence(std::uint64_t i, std::uint64_t side) {
    std::vector<std::int32_t> ids;
    const std::uint64_t length = 1 + core::random_below(4, 8, side, i);
    for (std::uint64_t k = 0; k < length; ++k)
      ids.push_back(static_cast<std::int32_t>(3 + core::random_below(9, i, side, k)));
    ids.push_back(2);
    return ids;
  }

  std::unique_ptr<nn::Seq2SeqModel> make(double dropout) const {
    const core::Json options = {
        {"d_model", 8},        {"heads", 2},
        {"feed_forward", 12},  {"encoder_layers", 1},
        {"decoder_layers", 1}, {"dropout", {{"embedding", dropout}, {"sub_layer", dropout}, {"attention", dropout}}}};
    auto model = make_environment(testing::host())
                     .make_model("transformer", {.source_vocabulary = 12, .target_vocabulary = 12}, options);
    auto& memory = testing::host().runtime().memory(Device::kReference);
    model->parameters().allocate(memory, tensor::DType::kF64, Device::kReference);
    model->parameters().initialise(1);
    model->parameters().attach_gradients(memory);
    return model;
  }

  std::vector<double> gradients_of(const nn::Seq2SeqModel& model,
                                   const std::vector<std::vector<std::uint32_t>>& batches, double scale,
                                   std::uint64_t step = 0, std::int64_t bucket = 1) {
    auto& parameters = const_cast<nn::Seq2SeqModel&>(model).parameters();
    parameters.begin_gradients();
    for (const auto& which : batches) {
      Batch batch;
      batch.assign(pairs_, which, 1, bucket);
      last_sums_ = accumulate_gradients(*context_, model, batch, 0.1, scale, {.seed = 3, .step = step});
    }
    parameters.finish_gradients();
    const tensor::Tensor flat = parameters.flat_gradients();
    return {flat.as<double>(), flat.as<double>() + flat.size()};
  }

  EncodedPairs pairs_;
  ops::LossSums last_sums_;
  core::SequentialExecutor executor_;
  std::unique_ptr<tensor::Context> context_ = testing::host().runtime().make_context(Device::kReference, executor_);
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

TEST_F(Loss, MicroBatchesAddUpToOneBigBatch) {
  const std::vector<double> whole = gradients_of(*model_, {{0, 1, 2, 3, 4, 5, 6, 7, 8}}, 1.0 / 30);
  const std::vector<double> parts = gradients_of(*model_, {{0, 4, 8}, {1, 2, 3, 5}, {6}, {7}}, 1.0 / 30);
  double largest = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(whole[i], parts[i], 1e-14);
    largest = std::max(largest, std::fabs(whole[i]));
  }
  EXPECT_GT(largest, 1e-3);
}

TEST_F(Loss, PairsThatFillABatchUpDoNotCount) {
  const auto model = make(0.3);
  const std::vector<double> plain = gradients_of(*model, {{0, 4, 8, 2}}, 1.0 / 30, 5);
  const ops::LossSums sums = last_sums_;
  for (const std::int64_t bucket : {7, 16, 64}) {
    const std::vector<double> filled = gradients_of(*model, {{0, 4, 8, 2}}, 1.0 / 30, 5, bucket);
    double largest = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      ASSERT_NEAR(filled[i], plain[i], 1e-15) << bucket << ' ' << i;
      largest = std::max(largest, std::fabs(plain[i]));
    }
    EXPECT_GT(largest, 1e-3);
    EXPECT_EQ(last_sums_.tokens, sums.tokens);
    EXPECT_EQ(last_sums_.loss, sums.loss);
    EXPECT_EQ(last_sums_.negative_log_likelihood, sums.negative_log_likelihood);
  }
}

TEST_F(Loss, GradientIsTheSlopeOfTheReportedLoss) {
  Batch batch;
  batch.assign(pairs_, std::vector<std::uint32_t>{2, 5, 7}, 1);
  const std::vector<double> gradient = gradients_of(*model_, {{2, 5, 7}}, 1);
  auto* values = model_->parameters().flat_values().as<double>();
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < gradient.size(); i += 37) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = evaluate_loss(*context_, *model_, batch, 0.1).loss;
    values[i] = value - kStep;
    const double below = evaluate_loss(*context_, *model_, batch, 0.1).loss;
    values[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6);
  }
}

/// With dropout the masks are functions of the step, so the loss of one step has a slope.
TEST_F(Loss, GradientOfRDropIsTheSlopeOfItsLoss) {
  const auto model = make(0.2);
  nn::ParameterStore& parameters = model->parameters();
  Batch batch;
  batch.assign(pairs_, std::vector<std::uint32_t>{2, 5, 7}, 1);
  batch.repeat();
  LossOptions options(0.1);
  options.r_drop = 3;
  const auto loss = [&] {
    parameters.begin_gradients();
    const ops::LossSums sums = accumulate_gradients(*context_, *model, batch, options, 1, {.seed = 3, .step = 4});
    EXPECT_EQ(sums.tokens, batch.target_tokens());
    parameters.finish_gradients();
    return sums.loss;
  };
  loss();
  const tensor::Tensor flat = parameters.flat_gradients();
  const std::vector<double> gradient{flat.as<double>(), flat.as<double>() + flat.size()};
  auto* values = parameters.flat_values().as<double>();
  constexpr double kStep = 1e-6;
  double largest = 0;
  for (std::size_t i = 0; i < gradient.size(); i += 41) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = loss();
    values[i] = value - kStep;
    const double below = loss();
    values[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6);
    largest = std::max(largest, std::fabs(gradient[i]));
  }
  EXPECT_GT(largest, 1e-3);
}

TEST_F(Loss, WithoutDropoutRDropIsThePlainLoss) {
  LossOptions options(0.1);
  options.r_drop = 3;
  Batch once, twice;
  once.assign(pairs_, std::vector<std::uint32_t>{0, 1, 2}, 1);
  twice.assign(pairs_, std::vector<std::uint32_t>{0, 1, 2}, 1);
  twice.repeat();
  model_->parameters().begin_gradients();
  const double plain = accumulate_gradients(*context_, *model_, once, 0.1, 1, {}).loss;
  EXPECT_NEAR(accumulate_gradients(*context_, *model_, twice, options, 1, {}).loss, plain, 1e-12);
  const auto model = make(0.3);
  model->parameters().begin_gradients();
  const auto with = [&](double weight) {
    options.r_drop = weight;
    return accumulate_gradients(*context_, *model, twice, options, 1, {.seed = 1, .step = 2}).loss;
  };
  // Linear in the weight, and a divergence is positive.
  EXPECT_GT(with(2), with(1));
  EXPECT_NEAR(with(3) - with(2), with(2) - with(1), 1e-10);
}

TEST_F(Loss, WordDropoutReplacesWhatIsReadOnly) {
  const nn::SequenceSpec& spec = model_->spec();
  std::vector<std::uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const auto make_batch = [&](const WordDropoutConfig& config, std::uint64_t step) {
    Batch batch;
    batch.assign(pairs_, all, spec.decoder_start);
    batch.drop_words(config, spec, 7, step);
    return batch;
  };
  const Batch plain = make_batch({}, 1);
  const auto replaced = [&](const tensor::RaggedTokens& now, const tensor::RaggedTokens& before) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < now.tokens.size(); ++i) {
      if (now.tokens[i] == before.tokens[i]) continue;
      EXPECT_EQ(now.tokens[i], spec.unknown);
      EXPECT_NE(before.tokens[i], spec.end);
      EXPECT_NE(before.tokens[i], spec.decoder_start);
      ++count;
    }
    return count;
  };
  const Batch dropped = make_batch({.source = 0.5, .target = 0.5}, 1);
  EXPECT_GT(replaced(dropped.source(), plain.source()), 3U);
  EXPECT_GT(replaced(dropped.input(), plain.input()), 3U);
  EXPECT_TRUE(std::ranges::equal(dropped.target(), plain.target())) << "what is predicted stays";
  const Batch source_only = make_batch({.source = 0.999}, 1);
  EXPECT_EQ(replaced(source_only.input(), plain.input()), 0U);
  const auto tokens = [](const Batch& batch) {
    return std::vector<std::int32_t>(batch.source().tokens.begin(), batch.source().tokens.end());
  };
  EXPECT_EQ(tokens(make_batch({.source = 0.5}, 4)), tokens(make_batch({.source = 0.5}, 4)));
  EXPECT_NE(tokens(make_batch({.source = 0.5}, 4)), tokens(make_batch({.source = 0.5}, 5)));
}

TEST_F(Loss, DropoutIsAFunctionOfTheStep) {
  const auto model = make(0.3);
  EXPECT_EQ(gradients_of(*model, {{0, 1}}, 1, 5), gradients_of(*model, {{0, 1}}, 1, 5));
  EXPECT_NE(gradients_of(*model, {{0, 1}}, 1, 5), gradients_of(*model, {{0, 1}}, 1, 6));
}

TEST_F(Loss, EvaluationHasNoDropoutAndLeavesTheContextAsItWas) {
  const auto model = make(0.3);
  Batch batch;
  batch.assign(pairs_, std::vector<std::uint32_t>{0, 1, 2}, 1);
  EXPECT_EQ(evaluate_loss(*context_, *model, batch, 0).loss, evaluate_loss(*context_, *model_, batch, 0).loss);
  gradients_of(*model, {{0}}, 1);
  EXPECT_FALSE(autograd::is_training(*context_));
  EXPECT_EQ(autograd::tape_of(*context_), nullptr);
}

TEST_F(Loss, AnUntrainedModelGuessesNearlyEvenly) {
  Batch batch;
  batch.assign(pairs_, std::vector<std::uint32_t>{0, 1, 2, 3}, 1);
  const ops::LossSums sums = evaluate_loss(*context_, *model_, batch, 0);
  EXPECT_EQ(sums.tokens, batch.target_tokens());
  EXPECT_NEAR(sums.loss / static_cast<double>(sums.tokens), std::log(12), 1.2);
  EXPECT_DOUBLE_EQ(sums.loss, sums.negative_log_likelihood);
}

}  // namespace
}  // namespace dragoman::training
