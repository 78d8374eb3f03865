#include "op_harness.h"

#include <functional>
#include <map>

#include <fmt/format.h>

#include <dragoman/backend_reference/install.h>
#include <dragoman/core/error.h>
#include <dragoman/ops/adam.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/feed_forward.h>
#include <dragoman/ops/kernels.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::testing {
namespace {

tensor::KernelTable reference_without(std::initializer_list<std::string_view> names) {
  tensor::KernelTable table(tensor::Device::kReference);
  backend::reference::install_kernels(table);
  for (const std::string_view name : names) table.erase(name);
  return table;
}

TEST(MissingKernel, IsAnErrorThatNamesOpAndDevice) {
  const tensor::KernelTable table(tensor::Device::kReference);
  Rig rig(table);
  const Variable x = rig.constant(1, 1, std::vector<double>{1});
  try {
    ops::add(rig.context(), x, x);
    FAIL() << "an op without a kernel ran";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("'add'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("reference"), std::string::npos) << error.what();
  }
}

TEST(MissingKernel, LinearRunsItsComposite) {
  const tensor::KernelTable table = reference_without({ops::kLinear.name});
  Rig plain(Device::kReference);
  Rig without(table);
  const auto run = [](Rig& rig) {
    const Variable x = rig.constant(3, 4, random_values(12, 1));
    const Variable weight = rig.constant(5, 4, random_values(20, 2));
    const Variable bias = rig.constant(1, 5, random_values(5, 3));
    return values_of(ops::linear(rig.context(), x, {weight, nullptr}, bias, ops::Activation::kGelu).value);
  };
  expect_close(run(without), run(plain), 1e-12, "linear");
}

TEST(MissingKernel, LinearCannotUseAPackedWeightWithoutItsKernel) {
  const tensor::KernelTable table = reference_without({ops::kLinear.name});
  Rig rig(table);
  const Variable x = rig.constant(1, 2, std::vector<double>{1, 2});
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), x.value, tensor::ComputeType::kF32);
  try {
    ops::linear(rig.context(), x, {{}, packed.get()}, {});
    FAIL() << "a packed weight was multiplied without a kernel";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnsupported);
  }
}

TEST(MissingKernel, ProjectTopKRunsItsComposite) {
  const tensor::KernelTable table = reference_without({ops::kProjectTopK.name});
  Rig plain(Device::kReference);
  Rig without(table);
  const auto run = [](Rig& rig) {
    const Tensor hidden = rig.matrix(3, 4, random_values(12, 1));
    const Variable weight = rig.constant(9, 4, random_values(36, 2));
    const auto result = ops::project_top_k(rig.context(), hidden, {{weight, nullptr}, {}}, {.k = 4});
    std::vector<double> values = values_of(result.tokens);
    for (const double value : values_of(result.log_probabilities)) values.push_back(value);
    return values;
  };
  expect_close(run(without), run(plain), 1e-12, "project_top_k");
}

/// Ops that have more keys than every backend must have kernels for, run by what stands in a program: by those kernels,
/// or without. What is an op's last result, or gradient.
std::vector<double> run_residual_norm(Rig& rig) {
  rig.record();
  const Variable x = rig.variable(3, 8, random_values(24, 1), true);
  const Variable gain = rig.constant(1, 8, random_values(8, 2));
  const auto [sum, norm] = ops::residual_dropout_layer_norm(rig.context(), x, x, 0, gain, gain, 1e-5);
  const Variable picked = ops::linear(rig.context(), norm, {rig.constant(1, 8, random_values(8, 3)), nullptr}, {});
  rig.backward(ops::matmul(rig.context(), rig.constant(1, 3, random_values(3, 4)), picked));
  return gradient_of(x);
}
std::vector<double> run_feed_forward(Rig& rig) {
  const auto packed = [&](std::int64_t rows, std::int64_t cols) {
    return rig.context().kernels().get(ops::kPackWeight)(
        rig.context(), rig.matrix(rows, cols, random_values(rows * cols, 5)), tensor::ComputeType::kF32);
  };
  const auto in = packed(8, 4);
  const auto out = packed(4, 8);
  const Variable x = rig.constant(3, 4, random_values(12, 6));
  return values_of(
      ops::feed_forward(rig.context(), x, {{}, in.get()}, {}, ops::Activation::kRelu, {{}, out.get()}, {}).value);
}
std::vector<double> run_linear(Rig& rig) {
  rig.record();
  const Variable x = rig.variable(3, 8, random_values(24, 10), true);
  const Variable weight = rig.variable(5, 8, random_values(40, 11), true);
  const Variable y = ops::linear(rig.context(), x, {weight, nullptr}, {}, ops::Activation::kRelu);
  const Variable picked = ops::linear(rig.context(), y, {rig.constant(1, 5, random_values(5, 12)), nullptr}, {});
  rig.backward(ops::matmul(rig.context(), rig.constant(1, 3, random_values(3, 13)), picked));
  std::vector<double> gradients = gradient_of(x);
  for (const double gradient : gradient_of(weight)) gradients.push_back(gradient);
  return gradients;
}
std::vector<double> run_dropped_linear(Rig& rig) {
  autograd::training_mode(rig.context()).set_training(true);
  autograd::training_mode(rig.context()).set_random(1, 1);
  rig.record();
  const Variable x = rig.variable(3, 8, random_values(24, 10), true);
  const Variable weight = rig.constant(5, 8, random_values(40, 11));
  const Variable y = ops::dropped_linear(rig.context(), x, {weight, nullptr}, {}, ops::Activation::kRelu, 0.5);
  const Variable picked = ops::linear(rig.context(), y, {rig.constant(1, 5, random_values(5, 12)), nullptr}, {});
  rig.backward(ops::matmul(rig.context(), rig.constant(1, 3, random_values(3, 13)), picked));
  return gradient_of(x);
}
std::vector<double> run_attention(Rig& rig) {
  static const std::vector<std::int32_t> kOffsets{0, 2, 5};
  rig.record();
  const Variable x = rig.variable(5, 8, random_values(40, 7), true);
  const auto offsets = rig.context().indices(kOffsets);
  const Variable y = ops::attention(rig.context(), x, x, x, offsets, offsets, {.heads = 2, .causal = true}).output;
  const Variable picked = ops::linear(rig.context(), y, {rig.constant(1, 8, random_values(8, 8)), nullptr}, {});
  rig.backward(ops::matmul(rig.context(), rig.constant(1, 5, random_values(5, 9)), picked));
  return gradient_of(x);
}

std::vector<double> run_loss(Rig& rig) {
  rig.record();
  const Variable x = rig.variable(5, 8, random_values(40, 7), true);
  const std::vector<std::int32_t> targets{1, 0, 8, 4, 1};
  ops::softmax_cross_entropy(rig.context(), x, {{rig.constant(9, 8, random_values(72, 8)), nullptr}, {}},
                             rig.context().indices(targets), {.label_smoothing = 0.1});
  rig.tape().backward(rig.context());
  return gradient_of(x);
}

/// Op by backend. A later op needs a line in ops/kernels.h, and with it kernels everywhere; one that may be composed of
/// others needs a run of its composition here.
TEST(Kernels, EachBackendHasOrComposesWhatTheListsSay) {
  const std::map<std::string_view, std::function<std::vector<double>(Rig&)>> composed{
      {"residual_dropout_layer_norm", run_residual_norm},
      {"residual_dropout_layer_norm_backward", run_residual_norm},
      {"feed_forward", run_feed_forward},
      {"linear_backward", run_linear},
      {"recomputed_attention", run_attention},
      {"recomputed_attention_backward", run_attention},
      {"projection_loss", run_loss},
      {"round_parameters", run_linear},
      {"dropped_linear", run_dropped_linear},
      {"dropped_linear_backward", run_dropped_linear}};
  for (const std::string_view name : {"cpu", "reference", "cuda"}) {
    const Device device = Device::of(name);
    if (!test_runtime().available(device)) continue;
    const tensor::KernelTable& table = test_runtime().kernels(device);
    const auto required = [&](auto key) { EXPECT_NE(table.find(key), nullptr) << key.name << " on " << name; };
    ops::for_each_key(ops::kKernels, required);
    ops::for_each_key(ops::kShortlistKernels, required);
    const auto optional = [&](auto key) {
      const auto run = composed.find(key.name);
      ASSERT_NE(run, composed.end()) << key.name << ": run what it is composed of in this test";
      if (table.find(key) != nullptr) return;
      Rig rig(device);
      Rig reference(Device::kReference);
      expect_close(run->second(rig), run->second(reference), 2e-5, fmt::format("{} on {}", key.name, name));
    };
    ops::for_each_key(ops::kFusedKernels, optional);
    ops::for_each_key(ops::kRecomputingKernels, optional);
    ops::for_each_key(ops::kStepKernels, optional);
  }
}

TEST(KernelTable, RefusesASecondKernelAndAWrongSignature) {
  tensor::KernelTable table = reference_without({});
  EXPECT_THROW(backend::reference::install_kernels(table), core::Error);
  constexpr tensor::KernelKey<void(int)> kOtherAdd{"add"};
  EXPECT_THROW(table.find(kOtherAdd), core::Error);
  constexpr tensor::KernelKey<void(int)> kNew{"of a plugin"};
  EXPECT_EQ(table.find(kNew), nullptr);
  table.set(kNew, [](int) {});
  EXPECT_NE(table.find(kNew), nullptr);
}

TEST(KernelTable, TheReferenceLeavesTheFusedNormToTheComposite) {
  EXPECT_EQ(test_runtime().kernels(Device::kReference).find(ops::kResidualLayerNorm), nullptr);
  EXPECT_NE(test_runtime().kernels(Device::kReference).find(ops::kAttention), nullptr);
}

}  // namespace
}  // namespace dragoman::testing
