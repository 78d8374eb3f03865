#pragma once

#include <memory>
#include <string_view>

#include <dragoman/tensor/context.h>

namespace dragoman::runtime {

/// The devices of this process with their kernels. Make one at start-up, let plugins add kernels, then share it
/// read-only between threads.
class Runtime {
 public:
  /// Installs the kernels of the CPU and of the reference backend.
  Runtime();

  /// Error{kUnsupported} if the device is not here.
  tensor::KernelTable& kernels(tensor::Device device);
  const tensor::KernelTable& kernels(tensor::Device device) const;
  bool available(tensor::Device device) const noexcept;

  /// A context on the device, in its float type (F32 on the CPU, F64 on the reference backend). The runtime and the
  /// executor must outlive it.
  std::unique_ptr<tensor::Context> make_context(tensor::Device device, core::Executor& executor) const;
  tensor::Allocator& allocator(tensor::Device device) const;
  /// The type in which the device keeps parameters and activations.
  static tensor::DType float_type(tensor::Device device);

 private:
  tensor::KernelTable cpu_;
  tensor::KernelTable reference_;
};

/// "cpu", "reference" or "cuda"; anything else is an Error{kInvalidArgument} that lists them.
tensor::Device parse_device(std::string_view name);

}  // namespace dragoman::runtime
