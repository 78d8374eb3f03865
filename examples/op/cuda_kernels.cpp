#include "launches.h"
#include "leaky_relu.h"

#include <dragoman/core/error.h>
#include <dragoman/tensor/kernel_launch.h>

namespace example {
namespace {

namespace core = dragoman::core;

device::Matrix matrix(const Tensor& tensor) {
  return {tensor.as<float>(), tensor.rows, tensor.cols, tensor.stride};
}

void require_launched(const char* trouble) {
  core::require(trouble == nullptr, core::ErrorCode::kInternal, "leaky-relu: the launch failed: {}",
                trouble == nullptr ? "" : trouble);
}

}  // namespace

void cuda_leaky_relu(Context& context, const LeakyReluArguments& a) {
  const dragoman::tensor::KernelLaunch launch(context, kLeakyRelu.name.data());
  require_launched(device::forward(matrix(a.x), matrix(a.y), static_cast<float>(a.slope), launch.stream()));
}

void cuda_leaky_relu_backward(Context& context, const LeakyReluBackwardArguments& a) {
  const dragoman::tensor::KernelLaunch launch(context, kLeakyReluBackward.name.data());
  require_launched(device::backward(matrix(a.x), matrix(a.dy), matrix(a.dx.value), a.dx.accumulate,
                                    static_cast<float>(a.slope), launch.stream()));
}

}  // namespace example
