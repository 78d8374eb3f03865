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

/// The numbers of steps that a recorder has processed.
struct RecorderCounts {
  std::size_t run = 0;
  std::size_t replayed = 0;
};

/// Records the kernel calls of a step at the second occurrence of its signature, and replays them from the third
/// occurrence on, as a graph of a GPU does. At the first occurrence, tables may still be created.
class HiddenRecorder final : public tensor::StepRecorder {
 public:
  HiddenRecorder(tensor::Context& context, RecorderCounts& counts) : context_(context), counts_(counts) {}

  const std::any* replay(const tensor::StepSignature& signature) override;
  void begin(const tensor::StepSignature& signature) override;
  bool end(std::any output) override;
  bool abandon(const char* reason) noexcept override;

  /// Called for every kernel call of a body. `call` repeats it with copies of its arguments.
  void add(std::function<void(tensor::Context&)> call);

 private:
  struct Call {
    tensor::Arena::Mark before;  ///< the beginning of the kernel's scratch memory
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
  Recording* open_ = nullptr;  ///< of the running body
};

/// Throws if arguments contain addresses that only the host may use: of the context's host arena or of the stack.
void require_device_addresses(tensor::Context& context, const void* arguments, std::size_t bytes,
                              std::string_view kernel);

/// The inner kernels of one key, for each hidden backend of the program.
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

/// Runs an inner kernel with the device's memory open. There is one per signature in a program, and hence one per key,
/// because every key has its own argument type.
template <class Signature>
struct HiddenKernel;

/// The common form: one struct of arguments.
template <class Arguments>
struct HiddenKernel<void(tensor::Context&, const Arguments&)> {
  static_assert(std::is_trivially_copyable_v<Arguments>, "a device keeps copies of a kernel's arguments");

  /// Backends are created before all static objects.
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
    __builtin_clear_padding(&plain);  // padding has arbitrary bytes from the stack
    require_device_addresses(context, &plain, sizeof plain, name);
#endif
    if (auto* const recorder = dynamic_cast<HiddenRecorder*>(context.recorder()))
      recorder->add([arguments](tensor::Context& c) { run(c, arguments); });
    run(context, arguments);
  }
};

/// Kernels that return an object for the host, such as a packed weight. They are never part of a step.
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

/// A device like a GPU on a machine without one. The host cannot read its memory. Its kernels are those of another
/// backend, such as the CPU's, and run with the memory open. Code that accesses a tensor outside a kernel or the
/// functions of DeviceMemory therefore ends the program, and results must have the bytes of the CPU's.
class HiddenBackend : public tensor::Backend {
 public:
  enum class Steps { kRun, kReplay };
  /// The code that opens the memory: this backend around each kernel, or the kernels themselves for the shortest
  /// possible time.
  enum class Opening { kAround, kWithin };
  static constexpr std::int64_t kRowBucket = 16;  ///< for training if steps are recorded

  /// Creates a backend with the kernels of all ops.
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
  /// Returns the counts of all contexts.
  RecorderCounts& counts() const noexcept { return counts_; }
  HiddenMemory& hidden_memory() const noexcept { return memory_; }

  /// Adds a kernel of a plugin.
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
