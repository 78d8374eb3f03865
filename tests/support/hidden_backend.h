#pragma once

#include "hidden_memory.h"

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/tensor/backend.h>
#include <dragoman/tensor/context.h>

namespace dragoman::testing {

/// How many steps a recorder has seen.
struct RecorderCounts {
  std::size_t run = 0;
  std::size_t replayed = 0;
};

/// Keeps the kernel calls of every step the second time that its signature comes, and makes them again from the third
/// time on: what a graph of a GPU does. The first time tables may still be made.
class HiddenRecorder final : public tensor::StepRecorder {
 public:
  HiddenRecorder(tensor::Context& context, RecorderCounts& counts) : context_(context), counts_(counts) {}

  const std::any* replay(const tensor::StepSignature& signature) override;
  void begin(const tensor::StepSignature& signature) override;
  void end(std::any output) override;
  void abandon() noexcept override { open_ = nullptr; }

  /// Called for every kernel call of a body: `call` does it with copies of its arguments.
  void add(std::function<void(tensor::Context&)> call);

 private:
  struct Call {
    tensor::Arena::Mark before;  ///< where the kernel's scratch memory begins
    std::function<void(tensor::Context&)> run;
  };
  struct Recording {
    int seen = 0;
    std::vector<Call> calls;
    std::any output;
  };

  tensor::Context& context_;
  RecorderCounts& counts_;
  std::map<tensor::StepSignature, Recording> recordings_;
  Recording* open_ = nullptr;  ///< of the body that runs
};

/// Throws unless arguments are free of addresses that only the host may use: of the context's host arena and of the
/// stack.
void require_device_addresses(tensor::Context& context, const void* arguments, std::size_t bytes,
                              std::string_view kernel);

/// The inner kernels of one key, of each hidden backend of the program.
template <class Function>
class InnerKernels {
 public:
  struct Kernel {
    Function function;
    bool opens_itself;
  };
  void set(std::string_view backend, const Kernel& kernel) {
    of_backend_.insert_or_assign(std::string(backend), kernel);
  }
  const Kernel& of(tensor::Device device) const { return of_backend_.find(device.backend())->second; }

 private:
  std::map<std::string, Kernel, std::less<>> of_backend_;
};

/// Runs an inner kernel with the device's memory open. There is one for each signature of a program, and so for each
/// key: every key has arguments of its own.
template <class Signature>
struct HiddenKernel;

/// The usual form: one struct of arguments.
template <class Arguments>
struct HiddenKernel<void(tensor::Context&, const Arguments&)> {
  static_assert(std::is_trivially_copyable_v<Arguments>, "a device keeps copies of a kernel's arguments");

  /// Backends are made before all static objects are.
  static auto& inner() {
    static InnerKernels<void (*)(tensor::Context&, const Arguments&)> kernels;
    return kernels;
  }
  static inline std::string_view name;
  static void run(tensor::Context& context, const Arguments& arguments) {
    const auto& kernel = inner().of(context.device());
    if (kernel.opens_itself) return kernel.function(context, arguments);
    const HiddenMemory::Open open(static_cast<HiddenMemory&>(context.memory()));
    kernel.function(context, arguments);
  }
  static void call(tensor::Context& context, const Arguments& arguments) {
#if __has_builtin(__builtin_clear_padding)
    Arguments plain = arguments;
    __builtin_clear_padding(&plain);  // which holds whatever was on the stack before
    require_device_addresses(context, &plain, sizeof plain, name);
#endif
    if (auto* const recorder = dynamic_cast<HiddenRecorder*>(context.recorder()))
      recorder->add([arguments](tensor::Context& c) { run(c, arguments); });
    run(context, arguments);
  }
};

/// What makes something for the host, such as a packed weight: never part of a step.
template <class Result, class... Arguments>
requires(!std::is_void_v<Result>) struct HiddenKernel<Result(tensor::Context&, Arguments...)> {
  static auto& inner() {
    static InnerKernels<Result (*)(tensor::Context&, Arguments...)> kernels;
    return kernels;
  }
  static inline std::string_view name;
  static Result call(tensor::Context& context, Arguments... arguments) {
    const auto& kernel = inner().of(context.device());
    if (kernel.opens_itself) return kernel.function(context, arguments...);
    const HiddenMemory::Open open(static_cast<HiddenMemory&>(context.memory()));
    return kernel.function(context, arguments...);
  }
};

/// A device like a GPU on a machine without one: the host cannot read its memory, and its kernels are others', such as
/// those of the CPU, which run with the memory open. So whatever touches a tensor outside of a kernel or of the verbs
/// of DeviceMemory ends the program, and results must have the bytes of the CPU's.
class HiddenBackend : public tensor::Backend {
 public:
  enum class Steps { kRun, kReplay };
  /// Who opens the memory: this backend around each kernel, or the kernels themselves, no longer than they must.
  enum class Opening { kAround, kWithin };
  static constexpr std::int64_t kRowBucket = 16;  ///< of training where steps are kept

  /// With the kernels of all ops.
  explicit HiddenBackend(const tensor::KernelTable& inner, std::string_view name = "hidden", Steps steps = Steps::kRun,
                         Opening opening = Opening::kAround);

  int device_count() const override { return 1; }
  tensor::DeviceMemory& memory(int) const override { return memory_; }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override {
    return backend::cpu::inference_type(choice);
  }
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override {
    return backend::cpu::training_type(choice);
  }
  std::int64_t row_bucket() const override { return steps_ == Steps::kReplay ? kRowBucket : 1; }
  std::string describe() const override { return "the CPU's kernels in memory that the host cannot read"; }
  std::unique_ptr<tensor::StepRecorder> make_recorder(tensor::Context& context) const override {
    if (steps_ == Steps::kRun) return nullptr;
    return std::make_unique<HiddenRecorder>(context, counts_);
  }
  /// Of all contexts together.
  RecorderCounts& counts() const noexcept { return counts_; }
  HiddenMemory& hidden_memory() const noexcept { return memory_; }

  /// For kernels of plugins.
  template <class Signature>
  void wrap(tensor::KernelKey<Signature> key, const tensor::KernelTable& inner) {
    using Kernel = HiddenKernel<Signature>;
    Kernel::inner().set(name(), {inner.get(key), opening_ == Opening::kWithin});
    Kernel::name = key.name;
    own_kernels().set(key, Kernel::call);
  }

 private:
  mutable HiddenMemory memory_;
  mutable RecorderCounts counts_;
  Steps steps_;
  Opening opening_;
};

}  // namespace dragoman::testing
