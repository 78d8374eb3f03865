#include "op_harness.h"

#include <dragoman/ops/attention.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/softmax.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;

/// The op in a context whose weights are multiplied in bf16, its gradients too.
OpCase beside_bf16(const OpCase& op_case) {
  OpCase result = op_case;
  result.run = [run = op_case.run](Context& context, Operands x) {
    autograd::training_mode(context).set_compute_type(tensor::ComputeType::kBF16);
    return run(context, x);
  };
  return result;
}

const std::vector<std::int32_t> kSequences{0, 3, 10};
const std::vector<std::int32_t> kIds{1, 4, 1, 0, 8};
const std::vector<std::int32_t> kPlaces{0, 1, 2, 0, 1};

/// What stays in fp32 whatever weights are multiplied in.
std::vector<OpCase> unaffected_cases() {
  const auto attention = [](bool causal) {
    return [causal](Context& c, Operands x) {
      const auto offsets = c.indices(kSequences);
      return std::vector{ops::attention(c, x[0], x[1], x[2], offsets, offsets, {.heads = 2, .causal = causal}).output};
    };
  };
  const std::vector<Operand> qkv(3, Operand{10, 24, -2, 2});
  return {{.name = "attention", .operands = qkv, .run = attention(false)},
          {.name = "causal_attention", .operands = qkv, .run = attention(true)},
          {.name = "softmax",
           .operands = {{5, 33, -9, 9}},
           .run = [](Context& c, Operands x) { return std::vector{ops::softmax(c, x[0])}; }},
          {.name = "log_softmax",
           .operands = {{5, 33, -9, 9}},
           .run = [](Context& c, Operands x) { return std::vector{ops::log_softmax(c, x[0])}; }},
          {.name = "layer_norm",
           .operands = {{5, 33}, {1, 33}, {1, 33}},
           .run = [](Context& c, Operands x) { return std::vector{ops::layer_norm(c, x[0], x[1], x[2], 1e-5)}; }},
          {.name = "residual_layer_norm",
           .operands = {{5, 33}, {5, 33}, {1, 33}, {1, 33}},
           .run =
               [](Context& c, Operands x) {
                 const auto [sum, norm] = ops::residual_dropout_layer_norm(c, x[0], x[1], 0, x[2], x[3], 1e-5);
                 return std::vector{sum, norm};
               }},
          {.name = "embedding", .operands = {{9, 33}, {3, 33}}, .run = [](Context& c, Operands x) {
             return std::vector{ops::embedding(c, c.indices(kIds), x[0], c.indices(kPlaces), x[1], {.scale = 5.7})};
           }}};
}

class Fp32BesideBf16 : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, Fp32BesideBf16, kAllDevices, device_name);

TEST_P(Fp32BesideBf16, WhatMultipliesNoWeightsHasTheSameBits) {
  for (const OpCase& op_case : unaffected_cases()) {
    const Outcome alone = run_case(GetParam(), op_case);
    const Outcome beside = run_case(GetParam(), beside_bf16(op_case));
    // A device may have attention of rounded inputs.
    if (op_case.name.ends_with("attention") && test_runtime().kernels(GetParam()).find(ops::kRecomputedAttention)) {
      EXPECT_NE(beside.outputs, alone.outputs) << op_case.name;
      continue;
    }
    EXPECT_EQ(beside.outputs, alone.outputs) << op_case.name;
    EXPECT_EQ(beside.gradients, alone.gradients) << op_case.name;
  }
}

/// The setting is one: weights are multiplied in bf16.
TEST_P(Fp32BesideBf16, ALinearLayerHasNot) {
  const OpCase linear{.name = "linear", .operands = {{5, 33}, {7, 33}}, .run = [](Context& c, Operands x) {
                        return std::vector{ops::linear(c, x[0], {x[1]}, {})};
                      }};
  const Outcome alone = run_case(GetParam(), linear);
  const Outcome beside = run_case(GetParam(), beside_bf16(linear));
  EXPECT_NE(beside.outputs, alone.outputs);
  EXPECT_NE(beside.gradients, alone.gradients);
  for (std::size_t i = 0; i < alone.outputs.size(); ++i)
    expect_close(beside.outputs[i], alone.outputs[i], 0.02, "linear");
}

}  // namespace
}  // namespace dragoman::testing
