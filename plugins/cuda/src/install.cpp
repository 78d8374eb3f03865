#include "dragoman/backend_cuda/install.h"

#include "kernels/kernels.h"
#include "use_device.h"

#include <dragoman/core/error.h>
#include <dragoman/ops/kernels.h>

namespace dragoman::backend::cuda {
namespace {

template <class Arguments>
void on_device(Context& context, const Arguments& arguments) {
  device::use(context.device().number());
  kernel(context, arguments);
}

std::unique_ptr<ops::ShortlistOutputs> on_device(Context& context, const PackedWeight& weight, std::int64_t columns) {
  device::use(context.device().number());
  return kernel(context, weight, columns);
}

/// Other threads multiply with it.
std::unique_ptr<PackedWeight> on_device(Context& context, const tensor::StoredMatrix& weight, ComputeType type) {
  device::use(context.device().number());
  auto packed = kernel(context, weight, type);
  device::wait();
  return packed;
}

}  // namespace

void install_kernels(tensor::KernelTable& table) {
  ops::for_each_key(ops::kKernels, [&](auto key) { table.set(key, on_device); });
  ops::for_each_key(ops::kShortlistKernels, [&](auto key) { table.set(key, on_device); });
  // kFeedForward is two products, whose epilogues are fused.
  table.set(ops::kLinearBackward, on_device);
  table.set(ops::kResidualLayerNorm, on_device);
  table.set(ops::kResidualLayerNormBackward, on_device);
  ops::for_each_key(ops::kRecomputingKernels, [&](auto key) { table.set(key, on_device); });
  ops::for_each_key(ops::kStepKernels, [&](auto key) { table.set(key, on_device); });
}

/// On tensor cores fp16 is as fast as bf16 and rounds to an eighth of its steps.
tensor::ComputeType inference_type(tensor::ComputeChoice choice) {
  switch (choice) {
    case tensor::ComputeChoice::kAuto:
      return ComputeType::kF16;
    case tensor::ComputeChoice::kBF16:
      return ComputeType::kBF16;
    case tensor::ComputeChoice::kF16:
      return ComputeType::kF16;
    case tensor::ComputeChoice::kI8:
      return ComputeType::kI8;
    case tensor::ComputeChoice::kF32:
      return ComputeType::kF32;
  }
  core::fail(core::ErrorCode::kInternal, "no number type");
}

tensor::ComputeType training_type(tensor::ComputeChoice choice) {
  core::require(choice != tensor::ComputeChoice::kI8, core::ErrorCode::kUnsupported,
                "nothing is trained in int8; use fp32, bf16 or fp16");
  // bf16 needs no scaled loss.
  return choice == tensor::ComputeChoice::kAuto ? ComputeType::kBF16 : inference_type(choice);
}

}  // namespace dragoman::backend::cuda
