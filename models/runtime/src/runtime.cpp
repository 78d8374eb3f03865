#include "dragoman/runtime/runtime.h"

#include <dragoman/backend_cpu/install.h>
#include <dragoman/backend_reference/install.h>
#include <dragoman/core/error.h>

namespace dragoman::runtime {

using tensor::Device;

Runtime::Runtime() : cpu_(Device::kCpu), reference_(Device::kReference) {
  backend::cpu::install_kernels(cpu_);
  backend::reference::install_kernels(reference_);
}

bool Runtime::available(Device device) const noexcept {
  return device != Device::kCuda;
}

const tensor::KernelTable& Runtime::kernels(Device device) const {
  core::require(available(device), core::ErrorCode::kUnsupported,
                "the device '{}' is not available in this build; use --device cpu", tensor::name_of(device));
  return device == Device::kCpu ? cpu_ : reference_;
}

tensor::KernelTable& Runtime::kernels(Device device) {
  return const_cast<tensor::KernelTable&>(static_cast<const Runtime*>(this)->kernels(device));
}

tensor::Allocator& Runtime::allocator(Device device) const {
  static_cast<void>(kernels(device));
  return tensor::host_allocator();
}

tensor::DType Runtime::float_type(Device device) {
  return device == Device::kReference ? tensor::DType::kF64 : tensor::DType::kF32;
}

std::unique_ptr<tensor::Context> Runtime::make_context(Device device, core::Executor& executor) const {
  return std::make_unique<tensor::Context>(kernels(device), allocator(device), float_type(device), executor);
}

Device parse_device(std::string_view name) {
  for (const Device device : {Device::kCpu, Device::kReference, Device::kCuda})
    if (tensor::name_of(device) == name) return device;
  core::fail(core::ErrorCode::kInvalidArgument, "unknown device '{}'; it must be cpu, cuda or reference", name);
}

}  // namespace dragoman::runtime
