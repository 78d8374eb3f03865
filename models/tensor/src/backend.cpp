#include "dragoman/tensor/backend.h"

#include <dragoman/core/error.h>

namespace dragoman::tensor {

Backend::~Backend() = default;

const KernelTable& Backend::kernels() const noexcept {
  const auto& extended = extended_.get();
  return extended == nullptr ? own_kernels_ : *extended;
}

void Backend::add_kernels(const std::function<void(KernelTable&)>& install) {
  extended_.update([&](std::shared_ptr<const KernelTable>& newest) {
    auto table = std::make_shared<KernelTable>(newest == nullptr ? own_kernels_ : *newest);
    install(*table);
    newest = std::move(table);
  });
}

ComputeType Backend::inference_type(ComputeChoice choice) const {
  core::require(choice == ComputeChoice::kF32 || choice == ComputeChoice::kAuto, core::ErrorCode::kUnsupported,
                "the {} backend does not compute in {}; fp32 is what it has", name(), name_of(choice));
  return ComputeType::kF32;
}

ComputeType Backend::training_type(ComputeChoice choice) const {
  core::require(choice == ComputeChoice::kF32 || choice == ComputeChoice::kAuto, core::ErrorCode::kUnsupported,
                "the {} backend does not train in {}; fp32 is what it has", name(), name_of(choice));
  return ComputeType::kF32;
}

void Backend::configure(const DeviceOptions& options) {
  core::require(options.memory == 0, core::ErrorCode::kUnsupported,
                "a bound is of a GPU's memory, and '{}' computes in the host's: leave it out", name());
  core::require(!options.kernel_times, core::ErrorCode::kUnsupported,
                "'{}' measures no times of kernels: leave them out, or name the CPU or a GPU as the device", name());
}

PreferredLoad Backend::preferred_load(int, ComputeType) const {
  return {};
}

std::unique_ptr<StepRecorder> Backend::make_recorder(Context&) const {
  return nullptr;
}

}  // namespace dragoman::tensor
