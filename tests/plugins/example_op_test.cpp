#include "leaky_relu.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/plugins/host.h>

// examples/op: an op of a plugin, with a kernel for each device.
namespace dragoman::plugins {
namespace {

TEST(ExampleOp, ComputesLeakyReluAndItsGradientOnBothDevices) {
  Host host({.plugins = {testing::built("op_plugin")}});
  core::SequentialExecutor executor;
  for (const tensor::Device device : {tensor::Device::kCpu, tensor::Device::kReference}) {
    const auto context = host.runtime().make_context(device, executor);
    const tensor::Tensor x = tensor::copy_to_step(*context, std::vector<float>{-2, 3, -0.5F, 0}, 2, 2);
    const tensor::Tensor y = context->allocate(2, 2);
    context->kernels().get(example::kLeakyRelu)(*context, {x, y, 0.25});
    const tensor::Tensor dy = tensor::copy_to_step(*context, std::vector<float>{4, 8, 4, 2}, 2, 2);
    const tensor::Tensor dx = tensor::copy_to_step(*context, std::vector<float>{100, 100, 100, 100}, 2, 2);
    context->kernels().get(example::kLeakyReluBackward)(*context, {x, dy, {dx, true}, 0.25});
    const std::vector<double> values{-0.5, 3, -0.125, 0};
    const std::vector<double> gradients{101, 108, 101, 100.5};
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(tensor::element(y, i / 2, i % 2), values[static_cast<std::size_t>(i)]) << tensor::name_of(device);
      EXPECT_EQ(tensor::element(dx, i / 2, i % 2), gradients[static_cast<std::size_t>(i)]) << tensor::name_of(device);
    }
  }
}

}  // namespace
}  // namespace dragoman::plugins
