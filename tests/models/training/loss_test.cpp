#include "small_task.h"

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
  EXPECT_FALSE(context_->training());
  EXPECT_EQ(context_->tape(), nullptr);
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
