#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <dragoman/core/parallel.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/kernel_table.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::autograd {
class Tape;
}

namespace dragoman::tensor {

/// What random numbers of a step are keyed by. A dropout mask is a pure function of (seed, step, stream, element).
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;    ///< the trainer's update number (and micro-batch)
  std::uint64_t stream = 0;  ///< counts the random ops within a step
};

/// Integers on the host together with the same integers where the device reads them.
struct Indices {
  std::span<const std::int32_t> host;
  const std::int32_t* device = nullptr;
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(host.size()); }
};

/// Everything an op needs besides its operands: device, kernels, step memory, executor, gradient mode, randomness.
/// Belongs to one thread at a time; several contexts may share a kernel table and a memory.
class Context {
 public:
  /// `kernels` and `executor` must outlive the context. `float_type` is what activations are computed in: F32, or F64
  /// on the reference backend.
  Context(const KernelTable& kernels, DeviceMemory& memory, DType float_type, core::Executor& executor)
      : Context(kernels, kernels.device(), memory, float_type, executor) {}
  /// The same for one device of several of the kind; `memory` is of its memory.
  Context(const KernelTable& kernels, Device device, DeviceMemory& memory, DType float_type, core::Executor& executor)
      : kernels_(&kernels),
        device_(device),
        memory_(&memory),
        float_type_(float_type),
        executor_(&executor),
        arena_(memory),
        host_arena_(host_memory()) {}

  Device device() const noexcept { return device_; }
  DType float_type() const noexcept { return float_type_; }
  const KernelTable& kernels() const noexcept { return *kernels_; }
  DeviceMemory& memory() const noexcept { return *memory_; }
  core::Executor& executor() const noexcept { return *executor_; }
  /// The device's step memory: tensors and kernels' scratch.
  Arena& arena() noexcept { return arena_; }
  /// The host's: records of the tape, headers of gradients, integers that are yet to be uploaded. Kernels read it
  /// only through indices(), where host and device share their memory.
  Arena& host_arena() noexcept { return host_arena_; }

  /// Step memory of the context's float type; uninitialised.
  Tensor allocate(std::int64_t rows, std::int64_t cols) { return arena_.allocate(rows, cols, float_type_, device()); }
  /// Makes host integers readable by kernels until the step ends. On host devices this is the same memory, so `values`
  /// must outlive the step.
  Indices indices(std::span<const std::int32_t> values) {
    return {values, memory_->host_readable() ? values.data() : upload(values)};
  }

  /// Gradients are recorded while a tape is set. nullptr: inference.
  autograd::Tape* tape() const noexcept { return tape_; }
  void set_tape(autograd::Tape* tape) noexcept { tape_ = tape; }

  /// Dropout is applied only in training mode.
  bool training() const noexcept { return training_; }
  void set_training(bool training) noexcept { training_ = training; }

  const RandomState& random() const noexcept { return random_; }
  void set_random(std::uint64_t seed, std::uint64_t step) noexcept { random_ = {seed, step, 0}; }
  /// The state for one random op; the next call gets another stream.
  RandomState next_random() noexcept {
    RandomState state = random_;
    ++random_.stream;
    return state;
  }

  /// Runs one step: frees the step memory of the last one, then calls body(). Within the body equal shapes get equal
  /// addresses from call to call, so a device may capture the body once per `key` and replay it; host devices simply
  /// run it.
  template <class Body>
  void step(std::uint64_t key, Body&& body) {
    static_cast<void>(key);
    arena_.reset();
    host_arena_.reset();
    body();
  }

 private:
  const std::int32_t* upload(std::span<const std::int32_t> values);

  const KernelTable* kernels_;
  Device device_;
  DeviceMemory* memory_;
  DType float_type_;
  core::Executor* executor_;
  Arena arena_;
  Arena host_arena_;
  autograd::Tape* tape_ = nullptr;
  bool training_ = false;
  RandomState random_;
};

/// Copies values into a tensor of the context's float type in step memory; for constants and tests.
Tensor copy_to_step(Context& context, std::span<const float> values, std::int64_t rows, std::int64_t cols);

/// Reads any host tensor of floats (F32, F64, F16, BF16) element by element.
double element(const Tensor& tensor, std::int64_t row, std::int64_t col);
void set_element(const Tensor& tensor, std::int64_t row, std::int64_t col, double value);

}  // namespace dragoman::tensor
