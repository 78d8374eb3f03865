#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/core/versioned.h>
#include <dragoman/tensor/backend.h>
#include <dragoman/tensor/context.h>

namespace dragoman::runtime {

/// The backends of this process and their devices. Thread-safe: backends and kernels may be added while other threads
/// use existing ones. A backend stays registered for the lifetime of the runtime.
///
///     const Runtime runtime;
///     const tensor::Device device = runtime.device("auto");
///     const auto executor = core::make_executor(4);
///     const auto context = runtime.make_context(device, *executor);
///
/// plugins::Host has a runtime to which plugins add their backends. The runtime must outlive the contexts.
class Runtime {
 public:
  /// Registers the CPU and the reference backend.
  Runtime();

  /// Adds one or more backends. If a name is taken, throws Error{kInvalidArgument} and adds none.
  void add(std::shared_ptr<tensor::Backend> backend);
  void add(const std::vector<std::shared_ptr<tensor::Backend>>& backends);
  /// The backends in the order in which they were added. The reference stays valid and does not show backends that are
  /// added later.
  const std::vector<std::shared_ptr<tensor::Backend>>& backends() const noexcept { return backends_.get(); }
  /// Returns nullptr if there is no backend of this name.
  tensor::Backend* find(std::string_view name) const noexcept;

  /// All devices on this machine, starting with the CPU's.
  std::vector<tensor::Device> devices() const;
  /// Returns true if the device exists on this machine.
  bool available(tensor::Device device) const;
  /// Returns the device of a name: "cpu", "cuda" (the first of its kind) or "cuda:1". "auto" selects the first device
  /// of the last added backend that has devices, never the reference. So a plugin's device comes before the CPU. For
  /// any other name throws Error{kInvalidArgument}, which lists the devices.
  tensor::Device device(std::string_view name) const;

  /// This function and the functions below throw Error{kUnsupported} if the device does not exist.
  tensor::Backend& backend(tensor::Device device) const;
  const tensor::KernelTable& kernels(tensor::Device device) const { return backend(device).kernels(); }
  tensor::DeviceMemory& memory(tensor::Device device) const { return backend(device).memory(device.number()); }
  /// The type of parameters and activations on the device.
  tensor::DType float_type(tensor::Device device) const { return backend(device).float_type(); }
  /// See Backend::inference_type().
  tensor::ComputeType inference_type(tensor::Device device, tensor::ComputeChoice choice) const {
    return backend(device).inference_type(choice);
  }
  /// See Backend::training_type().
  tensor::ComputeType training_type(tensor::Device device, tensor::ComputeChoice choice) const {
    return backend(device).training_type(choice);
  }
  /// Logs Backend::take_notices() of all backends as warnings. Long runs call it now and then.
  void log_notices(const core::LogSink& log) const;
  /// Returns a context on the device, in its float type. The runtime and the executor must outlive it.
  std::unique_ptr<tensor::Context> make_context(tensor::Device device, core::Executor& executor) const;

 private:
  core::Versioned<std::vector<std::shared_ptr<tensor::Backend>>> backends_;
};

/// The device name that leaves the choice to the runtime.
inline constexpr std::string_view kAutoDevice = "auto";

/// Returns the backend part of a device name: "cuda" for "cuda:1".
std::string_view backend_of(std::string_view device_name);

}  // namespace dragoman::runtime
