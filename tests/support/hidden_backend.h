#pragma once

#include "hidden_memory.h"

#include <dragoman/tensor/backend.h>
#include <dragoman/tensor/context.h>

namespace dragoman::testing {

/// Runs inner kernels with the device's memory open. There is one for each key of a program.
template <const auto& key>
struct HiddenKernel;

template <class Result, class... Arguments, const tensor::KernelKey<Result(tensor::Context&, Arguments...)>& key>
struct HiddenKernel<key> {
  static inline Result (*inner)(tensor::Context&, Arguments...) = nullptr;
  static Result call(tensor::Context& context, Arguments... arguments) {
    const HiddenMemory::Open open(static_cast<HiddenMemory&>(context.memory()));
    return inner(context, arguments...);
  }
};

/// A device like a GPU on a machine without one: the host cannot read its memory, and its kernels are those of the CPU,
/// which run with the memory open. So whatever touches a tensor outside of a kernel or of the verbs of DeviceMemory
/// ends the program, and results must have the bytes of the CPU's.
class HiddenBackend : public tensor::Backend {
 public:
  /// With the kernels of all ops. An op of `cpu` that this class does not know is an error: add it to the list.
  explicit HiddenBackend(const tensor::KernelTable& cpu, std::string_view name = "hidden");

  int device_count() const override { return 1; }
  tensor::DeviceMemory& memory(int) const override { return memory_; }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  std::string describe() const override { return "the CPU's kernels in memory that the host cannot read"; }

  /// For kernels of plugins.
  template <const auto& key>
  void wrap(const tensor::KernelTable& cpu) {
    HiddenKernel<key>::inner = cpu.get(key);
    kernels().set(key, HiddenKernel<key>::call);
  }

 private:
  mutable HiddenMemory memory_;
};

}  // namespace dragoman::testing
