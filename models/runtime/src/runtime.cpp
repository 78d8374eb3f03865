#include "dragoman/runtime/runtime.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/backend_reference/install.h>
#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::runtime {
namespace {

using tensor::Backend;
using tensor::Device;

/// A backend that computes in host memory, which is one device.
class HostBackend : public Backend {
 public:
  using Backend::Backend;
  int device_count() const final { return 1; }
  tensor::DeviceMemory& memory(int /*number*/) const final { return tensor::host_memory(); }
};

class CpuBackend final : public HostBackend {
 public:
  CpuBackend() : HostBackend(Device::kCpu.backend()) { backend::cpu::install_kernels(own_kernels()); }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  bool takes_stored_types() const override { return true; }
  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override {
    return backend::cpu::inference_type(choice);
  }
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override {
    return backend::cpu::training_type(choice);
  }
  void configure(const tensor::DeviceOptions& options) override {
    tensor::DeviceOptions others = options;
    others.kernel_times = false;
    HostBackend::configure(others);
    if (options.kernel_times) add_kernels(backend::cpu::install_timed_kernels);
  }
  std::vector<tensor::KernelTime> kernel_times() const override { return backend::cpu::kernel_times(); }
  tensor::PreferredLoad preferred_load(int /*number*/, tensor::ComputeType type) const override {
    return backend::cpu::preferred_load(type);
  }
  std::string describe() const override { return backend::cpu::simd_level(); }
  std::vector<std::string> details() const override { return backend::cpu::details(); }
};

class ReferenceBackend final : public HostBackend {
 public:
  ReferenceBackend() : HostBackend(Device::kReference.backend()) { backend::reference::install_kernels(own_kernels()); }
  tensor::DType float_type() const override { return tensor::DType::kF64; }
  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override {
    switch (choice) {
      case tensor::ComputeChoice::kBF16:
        return tensor::ComputeType::kBF16;
      case tensor::ComputeChoice::kF16:
        return tensor::ComputeType::kF16;
      case tensor::ComputeChoice::kI8:
        return tensor::ComputeType::kI8;
      default:
        return tensor::ComputeType::kF32;
    }
  }
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override {
    const bool narrow = choice == tensor::ComputeChoice::kBF16 || choice == tensor::ComputeChoice::kF16;
    return narrow ? inference_type(choice) : Backend::training_type(choice);
  }
  std::string describe() const override { return "double precision, for tests"; }
};

std::string list(const std::vector<Device>& devices) {
  std::string text;
  for (const Device device : devices) text += (text.empty() ? "" : ", ") + tensor::name_of(device);
  return text;
}

using Backends = std::vector<std::shared_ptr<Backend>>;

Backend* find_in(const Backends& backends, std::string_view name) noexcept {
  const auto found = std::ranges::find_if(backends, [&](const auto& backend) { return backend->name() == name; });
  return found == backends.end() ? nullptr : found->get();
}

}  // namespace

Runtime::Runtime() : backends_({std::make_shared<CpuBackend>(), std::make_shared<ReferenceBackend>()}) {}

void Runtime::add(std::shared_ptr<Backend> backend) {
  add(Backends{std::move(backend)});
}

void Runtime::add(const Backends& backends) {
  if (backends.empty()) return;
  backends_.update([&](Backends& known) {
    for (const std::shared_ptr<Backend>& backend : backends) {
      core::require(find_in(known, backend->name()) == nullptr, core::ErrorCode::kInvalidArgument,
                    "there is a backend called '{}' already", backend->name());
      known.push_back(backend);
    }
  });
}

Backend* Runtime::find(std::string_view name) const noexcept {
  return find_in(backends(), name);
}

std::vector<Device> Runtime::devices() const {
  std::vector<Device> devices;
  for (const auto& backend : backends())
    for (int number = 0; number < backend->device_count(); ++number)
      devices.push_back(Device::of(backend->name(), number));
  return devices;
}

bool Runtime::available(Device device) const {
  const Backend* backend = find(device.backend());
  return backend != nullptr && device.number() < backend->device_count();
}

Device Runtime::device(std::string_view name) const {
  const std::vector<Device> here = devices();
  if (name == kAutoDevice) {
    Device best = Device::kCpu;
    for (const Device device : here)
      if (device.number() == 0 && device.backend() != Device::kReference.backend()) best = device;
    return best;
  }
  const auto found = std::ranges::find_if(here, [&](Device device) {
    return name == tensor::name_of(device) || name == fmt::format("{}:{}", device.backend(), device.number());
  });
  if (found != here.end()) return *found;
  const Backend* backend = find(backend_of(name));
  if (backend != nullptr && backend->device_count() == 0)
    core::fail(core::ErrorCode::kInvalidArgument, "the device {} is not on this machine ({}); here are: {}",
               core::quote(name), backend->describe(), list(here));
  core::require(backend == nullptr, core::ErrorCode::kInvalidArgument,
                "the device {} is not on this machine, which has {} of its kind; here are: {}", core::quote(name),
                backend == nullptr ? 0 : backend->device_count(), list(here));
  core::fail(core::ErrorCode::kInvalidArgument, "unknown device {}; here are: {}", core::quote(name), list(here));
}

Backend& Runtime::backend(Device device) const {
  if (!available(device))
    core::fail(core::ErrorCode::kUnsupported, "the device '{}' is not here; there are: {}", tensor::name_of(device),
               list(devices()));
  return *find(device.backend());
}

std::unique_ptr<tensor::Context> Runtime::make_context(Device device, core::Executor& executor) const {
  Backend& of = backend(device);
  auto context =
      std::make_unique<tensor::Context>(of.kernels(), device, of.memory(device.number()), of.float_type(), executor);
  context->set_recorder(of.make_recorder(*context));
  return context;
}

void Runtime::log_notices(const core::LogSink& log) const {
  for (const auto& backend : backends())
    for (const std::string& line : backend->take_notices())
      core::log(log, core::LogLevel::kWarning, fmt::format("device {}: {}", backend->name(), line));
}

std::string_view backend_of(std::string_view device_name) {
  return device_name.substr(0, device_name.find(':'));
}

}  // namespace dragoman::runtime
