#include "cuda_kernels.h"

#include "scan.h"
#include "ssru_scan.h"

#include <dragoman/core/error.h>
#include <dragoman/tensor/kernel_launch.h>

namespace dragoman::ssru {
namespace {

constexpr const char* kScanName = "ssru.scan";
constexpr const char* kBackwardName = "ssru.scan_backward";

device::Matrix matrix(const Tensor& tensor) {
  core::require(tensor.empty() || tensor.dtype == tensor::DType::kF32, core::ErrorCode::kUnsupported,
                "ssru.scan: the kernel for CUDA takes F32, not {}", tensor::describe(tensor));
  return {tensor.as<float>(), tensor.rows, tensor.cols, tensor.stride};
}
device::Target target(const GradientTarget& gradient) {
  return {matrix(gradient.value), gradient.accumulate};
}
device::Offsets offsets(const ops::DeviceIndices& indices) {
  return {indices.data, indices.count};
}

void require_launched(const char* trouble, const char* kernel) {
  core::require(trouble == nullptr, core::ErrorCode::kInternal, "CUDA: launching {} failed: {}", kernel,
                trouble == nullptr ? "" : trouble);
}

void cuda_scan(Context& context, const ScanArguments& arguments) {
  const device::Scan scan{.candidates = matrix(arguments.candidates),
                          .forget = matrix(arguments.forget),
                          .initial = matrix(arguments.initial),
                          .offsets = offsets(arguments.offsets),
                          .cells = matrix(arguments.cells),
                          .latest = matrix(arguments.latest)};
  const tensor::KernelLaunch launch(context, kScanName);
  require_launched(device::scan(scan, launch.stream()), kScanName);
}

void cuda_scan_backward(Context& context, const ScanBackwardArguments& arguments) {
  const device::ScanBackward scan{.candidates = matrix(arguments.candidates),
                                  .forget = matrix(arguments.forget),
                                  .cells = matrix(arguments.cells),
                                  .offsets = offsets(arguments.offsets),
                                  .dcells = matrix(arguments.dcells),
                                  .dcandidates = target(arguments.dcandidates),
                                  .dforget = target(arguments.dforget)};
  const tensor::KernelLaunch launch(context, kBackwardName);
  require_launched(device::scan_backward(scan, launch.stream()), kBackwardName);
}

}  // namespace

void register_cuda_kernels(plugins::Registrar& registrar, std::string_view backend) {
  registrar.add_kernel(backend, kScan, cuda_scan);
  registrar.add_kernel(backend, kScanBackward, cuda_scan_backward);
}

}  // namespace dragoman::ssru
