#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <dragoman/core/versioned.h>
#include <dragoman/tensor/backend.h>
#include <dragoman/tensor/context.h>

namespace dragoman::runtime {

/// The backends of this process and their devices. It is thread-safe: backends and their kernels may be added while
/// other threads use registered ones. A backend stays as long as the runtime lives.
class Runtime {
 public:
  /// With the CPU and the reference backend.
  Runtime();

  /// Adds one backend or several. Error{kInvalidArgument} if one of the names is taken; then none is added.
  void add(std::shared_ptr<tensor::Backend> backend);
  void add(const std::vector<std::shared_ptr<tensor::Backend>>& backends);
  /// In the order in which they were added. The reference stays valid and does not show what is added later.
  const std::vector<std::shared_ptr<tensor::Backend>>& backends() const noexcept { return backends_.get(); }
  /// nullptr if there is none of this name.
  tensor::Backend* find(std::string_view name) const noexcept;

  /// All devices that are here, those of the CPU first.
  std::vector<tensor::Device> devices() const;
  bool available(tensor::Device device) const;
  /// "cpu", "cuda" (the first of its kind) or "cuda:1". "auto" is the first device of the backend that was added last
  /// and has any, though never the reference: so a plugin's, else the CPU. Error{kInvalidArgument} that lists the
  /// devices if it is none of them.
  tensor::Device device(std::string_view name) const;

  /// Of all below: Error{kUnsupported} if the device is not here.
  tensor::Backend& backend(tensor::Device device) const;
  const tensor::KernelTable& kernels(tensor::Device device) const { return backend(device).kernels(); }
  tensor::DeviceMemory& memory(tensor::Device device) const { return backend(device).memory(device.number()); }
  /// The type in which the device keeps parameters and activations.
  tensor::DType float_type(tensor::Device device) const { return backend(device).float_type(); }
  /// See Backend::inference_type().
  tensor::ComputeType inference_type(tensor::Device device, tensor::ComputeChoice choice) const {
    return backend(device).inference_type(choice);
  }
  /// What ComputeChoice::kAuto is in inference, and what that follows from, for a log: "compute int8 (AVX-512 VNNI yes,
  /// ...)".
  std::string describe_automatic_compute(tensor::Device device) const;
  /// See Backend::training_type().
  tensor::ComputeType training_type(tensor::Device device, tensor::ComputeChoice choice) const {
    return backend(device).training_type(choice);
  }
  /// A context on the device, in its float type. The runtime and the executor must outlive it.
  std::unique_ptr<tensor::Context> make_context(tensor::Device device, core::Executor& executor) const;

 private:
  core::Versioned<std::vector<std::shared_ptr<tensor::Backend>>> backends_;
};

/// The device name that leaves the choice to the runtime.
inline constexpr std::string_view kAutoDevice = "auto";

/// The part of a device's name that says its backend: "cuda" of "cuda:1".
std::string_view backend_of(std::string_view device_name);

}  // namespace dragoman::runtime
