#include "op_harness.h"

#include <dragoman/backend_reference/install.h>
#include <dragoman/core/error.h>
#include <dragoman/ops/adam.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/project_top_k.h>

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
