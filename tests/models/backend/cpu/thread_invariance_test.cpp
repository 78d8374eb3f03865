// House rule 11: block sizes are functions of shapes, so results have the same bits for any number of threads. The
// tests of the ops check small operands; these are large enough that every kernel is split.
#include "support.h"

#include <gtest/gtest.h>

#include <dragoman/ops/adam.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::backend::cpu {
namespace {

constexpr std::int64_t kTokens = 900;
constexpr std::int64_t kWidth = 256;
constexpr tensor::RandomKey kMaskKey{1, 2};
constexpr tensor::RandomState kMask{&kMaskKey, 3};

/// Runs `compute(rig)`, which returns floats, with one, two and five threads.
template <class Compute>
void expect_same_bits(const Compute& compute) {
  Rig one(1);
  const std::vector<float> expected = compute(one);
  for (const int threads : {2, 5}) {
    Rig rig(threads);
    ASSERT_EQ(compute(rig), expected) << threads << " threads";
  }
}

std::vector<float> join(std::vector<float> first, const std::vector<float>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(ThreadInvariance, MatMulForTheThreeProductsOfTraining) {
  Matrix x(kTokens, kWidth, random_floats(kTokens * kWidth, 1));
  Matrix dy(kTokens, 512, random_floats(kTokens * 512, 2));
  Matrix weight(512, kWidth, random_floats(512 * kWidth, 3));
  for (const auto type : {tensor::ComputeType::kF32, tensor::ComputeType::kBF16})
    expect_same_bits([&](Rig& rig) {
      Matrix y(kTokens, 512);
      Matrix dx(kTokens, kWidth);
      Matrix dweight(512, kWidth);
      rig.run(ops::kMatMul, ops::MatMulArguments{x, false, weight, true, y, false, type});
      rig.run(ops::kMatMul, ops::MatMulArguments{dy, false, weight, false, dx, false, type});
      rig.run(ops::kMatMul, ops::MatMulArguments{dy, true, x, false, dweight, false, type});
      return join(join(y.values(), dx.values()), dweight.values());
    });
}

TEST(ThreadInvariance, LinearGradients) {
  Matrix x(kTokens, kWidth, random_floats(kTokens * kWidth, 1));
  Matrix weight(512, kWidth, random_floats(512 * kWidth, 2));
  Matrix z(kTokens, 512, random_floats(kTokens * 512, 3));
  Matrix dy(kTokens, 512, random_floats(kTokens * 512, 4));
  for (const auto type : {tensor::ComputeType::kF32, tensor::ComputeType::kBF16})
    expect_same_bits([&](Rig& rig) {
      Matrix dx(kTokens, kWidth);
      Matrix dweight(512, kWidth);
      Matrix dbias(1, 512);
      rig.run(ops::kLinearBackward, ops::LinearBackwardArguments{.x = x,
                                                                 .weight = weight,
                                                                 .activation = ops::Activation::kGelu,
                                                                 .pre_activation = z,
                                                                 .y = z,
                                                                 .dy = dy,
                                                                 .dx = {dx, false},
                                                                 .dweight = {dweight, false},
                                                                 .dbias = {dbias, false},
                                                                 .type = type});
      return join(join(dx.values(), dweight.values()), dbias.values());
    });
}

TEST(ThreadInvariance, LinearPlainAndPacked) {
  Matrix x(kTokens, kWidth, random_floats(kTokens * kWidth, 1));
  Matrix weight(512, kWidth, random_floats(512 * kWidth, 2));
  Matrix bias(1, 512, random_floats(512, 3));
  expect_same_bits([&](Rig& rig) {
    const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, tensor::ComputeType::kF32);
    Matrix y(kTokens, 512);
    Matrix y_packed(kTokens, 512);
    rig.run(ops::kLinear, ops::LinearArguments{
                              .x = x, .weight = weight, .bias = bias, .activation = ops::Activation::kSwish, .y = y});
    rig.run(ops::kLinear, ops::LinearArguments{.x = x, .packed = packed.get(), .bias = bias, .y = y_packed});
    return join(y.values(), y_packed.values());
  });
}

TEST(ThreadInvariance, LayerNormGradientsWithDropout) {
  Matrix x(kTokens, kWidth, random_floats(kTokens * kWidth, 1));
  Matrix residual(kTokens, kWidth, random_floats(kTokens * kWidth, 2));
  Matrix gain(1, kWidth, random_floats(kWidth, 3));
  Matrix bias(1, kWidth, random_floats(kWidth, 4));
  Matrix dy(kTokens, kWidth, random_floats(kTokens * kWidth, 5));
  expect_same_bits([&](Rig& rig) {
    Matrix sum(kTokens, kWidth), y(kTokens, kWidth), mean(kTokens, 1), deviation(kTokens, 1);
    Matrix dresidual(kTokens, kWidth), dx(kTokens, kWidth), dgain(1, kWidth), dbias(1, kWidth);
    rig.run(ops::kResidualLayerNorm,
            ops::ResidualLayerNormArguments{residual, x, 0.1, kMask, gain, bias, 1e-5, sum, y, mean, deviation});
    rig.run(ops::kResidualLayerNormBackward, ops::ResidualLayerNormBackwardArguments{sum,
                                                                                     gain,
                                                                                     mean,
                                                                                     deviation,
                                                                                     0.1,
                                                                                     kMask,
                                                                                     dy,
                                                                                     {},
                                                                                     {dresidual, false},
                                                                                     {dx, false},
                                                                                     {dgain, false},
                                                                                     {dbias, false}});
    return join(join(y.values(), dx.values()), join(dgain.values(), dbias.values()));
  });
}

TEST(ThreadInvariance, EmbeddingGradientsWithManyEqualIds) {
  std::vector<std::int32_t> ids;
  for (std::int32_t t = 0; t < kTokens; ++t) ids.push_back(t * t % 50);
  Matrix dy(kTokens, kWidth, random_floats(kTokens * kWidth, 1));
  expect_same_bits([&](Rig& rig) {
    Matrix dtable(60, kWidth);
    rig.run(ops::kEmbeddingBackward,
            ops::EmbeddingBackwardArguments{array(ids), 0, dy, 16, 0.1, kMask, {dtable, false}});
    return dtable.values();
  });
}

TEST(ThreadInvariance, AttentionAndItsGradients) {
  std::vector<std::int32_t> offsets = {0};
  while (offsets.back() < kTokens)
    offsets.push_back(offsets.back() + 1 + static_cast<std::int32_t>(offsets.size() * 7 % 40));
  std::vector<std::int64_t> weights = {0};
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const std::int64_t length = offsets[b + 1] - offsets[b];
    weights.push_back(weights.back() + 4 * length * length);
  }
  const std::int64_t total = offsets.back();
  Matrix q(total, kWidth, random_floats(total * kWidth, 1));
  Matrix k(total, kWidth, random_floats(total * kWidth, 2));
  Matrix v(total, kWidth, random_floats(total * kWidth, 3));
  Matrix dy(total, kWidth, random_floats(total * kWidth, 4));
  expect_same_bits([&](Rig& rig) {
    Matrix y(total, kWidth), dq(total, kWidth), dk(total, kWidth), dv(total, kWidth), probabilities(1, weights.back());
    const ops::AttentionArguments forward{.q = q,
                                          .k = k,
                                          .v = v,
                                          .q_offsets = array(offsets),
                                          .k_offsets = array(offsets),
                                          .heads = 4,
                                          .rate = 0.1,
                                          .random = kMask,
                                          .probabilities = probabilities,
                                          .y = y};
    rig.run(ops::kAttention, forward);
    rig.run(ops::kAttentionBackward,
            ops::AttentionBackwardArguments{forward, dy, {dq, false}, {dk, false}, {dv, false}});
    return join(join(y.values(), dq.values()), join(dk.values(), dv.values()));
  });
}

TEST(ThreadInvariance, CrossEntropyAdamAndSumOfSquares) {
  const std::vector<float> logits = random_floats(200 * 1000, 1);
  std::vector<std::int32_t> targets;
  for (std::int32_t t = 0; t < 200; ++t) targets.push_back(t * 31 % 1000);
  expect_same_bits([&](Rig& rig) {
    Matrix rows(200, 1000, logits);
    std::vector<double> loss(200), nll(200);
    const std::vector<double> scale{0.01};
    rig.run(ops::kCrossEntropyRows,
            ops::CrossEntropyRowsArguments{rows, array(targets), 0.1, array(scale), doubles(loss), doubles(nll)});
    Matrix flat(1, 200 * 1000, rows.values());
    Matrix parameters(1, 200 * 1000, logits), first(1, 200 * 1000, logits),
        second(1, 200 * 1000, std::vector<float>(logits.size(), 0.5F));
    const std::vector<ops::UpdateStep> step{{.learning_rate = 0.01, .step = 3}};
    rig.run(ops::kAdam, ops::AdamArguments{.parameters = parameters,
                                           .gradients = flat,
                                           .first_moment = first,
                                           .second_moment = second,
                                           .step = array(step)});
    std::vector<double> squares(1);
    rig.run(ops::kSumOfSquares, ops::SumOfSquaresArguments{flat, doubles(squares)});
    std::vector<float> result = join(rows.values(), parameters.values());
    result.push_back(static_cast<float>(squares[0]));
    result.push_back(static_cast<float>(loss[77]));
    return result;
  });
}

}  // namespace
}  // namespace dragoman::backend::cpu
