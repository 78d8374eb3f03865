#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <dragoman/core/parallel.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/device_array.h>
#include <dragoman/tensor/kernel_table.h>
#include <dragoman/tensor/random_key.h>
#include <dragoman/tensor/recycled_memory.h>
#include <dragoman/tensor/step_recorder.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::autograd {
class Tape;
}
namespace dragoman::ops {
class AttentionObserver;
}

namespace dragoman::tensor {

/// Randomness of one op. A dropout mask is a pure function of (seed, step, stream, element). The key is what differs
/// between two equal steps, so kernels find it in the device's memory, at the same address in every step.
struct RandomState {
  const RandomKey* key = nullptr;
  std::uint64_t stream = 0;  ///< counts the random ops within a step
};

/// Integers on the host together with the same integers where the device reads them. Ops take these, kernels only get
/// the device's.
struct Indices {
  std::span<const std::int32_t> host;
  const std::int32_t* device = nullptr;
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(host.size()); }
  operator DeviceArray<std::int32_t>() const noexcept { return {device, size()}; }  // NOLINT(google-explicit-*)
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
        layer_arenas_{Arena(memory), Arena(memory)},
        gradients_(memory),
        host_arena_(host_memory()) {}

  Device device() const noexcept { return device_; }
  DType float_type() const noexcept { return float_type_; }
  const KernelTable& kernels() const noexcept { return *kernels_; }
  DeviceMemory& memory() const noexcept { return *memory_; }
  core::Executor& executor() const noexcept { return *executor_; }
  /// The device's step memory: tensors and kernels' scratch.
  Arena& arena() noexcept { return *current_arena_; }
  /// The host's: records of the tape, headers of gradients, integers that are yet to be uploaded. Kernels read it
  /// only through indices(), where host and device share their memory.
  Arena& host_arena() noexcept { return host_arena_; }

  /// Step memory of the context's float type; uninitialised.
  Tensor allocate(std::int64_t rows, std::int64_t cols) { return arena_.allocate(rows, cols, float_type_, device()); }
  /// The same for what is read after the step: it outlives the layer that makes it, see LayerMemory.
  Tensor allocate_for_step(std::int64_t rows, std::int64_t cols) {
    return arena_.allocate(rows, cols, float_type_, device());
  }
  /// Memory of the gradients of activations, which are given back as soon as nobody reads them any more.
  RecycledMemory& gradient_memory() noexcept { return gradients_; }
  /// Makes host values readable by kernels until the step ends. On host devices this is the same memory, so `values`
  /// must outlive the step.
  template <class T>
  DeviceArray<T> upload(std::span<const T> values) {
    const void* data = memory_->reads_host_memory() ? values.data() : upload_bytes(values.data(), values.size_bytes());
    return {static_cast<const T*>(data), static_cast<std::int64_t>(values.size())};
  }
  /// Room like that of so many uploaded values, for kernels of the preparation to fill. Of devices that cannot read the
  /// host's memory.
  template <class T>
  DeviceArray<T> room_for(std::int64_t count) {
    return {static_cast<const T*>(upload_room(static_cast<std::size_t>(count) * sizeof(T))), count};
  }
  /// The same of values that do not outlive the step.
  template <class T>
  DeviceArray<T> upload_copy(std::span<const T> values) {
    T* copy = static_cast<T*>(host_arena_.allocate(values.size_bytes()));
    std::copy(values.begin(), values.end(), copy);
    return upload(std::span<const T>(copy, values.size()));
  }
  template <class T>
  DeviceArray<T> upload_copy(const T& value) {
    return upload_copy(std::span<const T>(&value, 1));
  }
  /// `values` must outlive what is returned, which refers to them.
  Indices indices(std::span<const std::int32_t> values) { return {values, upload(values).data}; }
  void indices(const std::same_as<std::vector<std::int32_t>> auto&& temporary) = delete;

  /// Gradients are recorded while a tape is set. nullptr: inference.
  autograd::Tape* tape() const noexcept { return tape_; }
  void set_tape(autograd::Tape* tape) noexcept { tape_ = tape; }

  /// Whoever looks at each attention that is computed; nullptr: nobody. Steps that are watched are not recorded.
  ops::AttentionObserver* attention_observer() const noexcept { return attention_observer_; }
  void set_attention_observer(ops::AttentionObserver* observer) noexcept { attention_observer_ = observer; }

  /// What plain weights are multiplied in, and with them their gradients; Backend::training_type() gives that of a
  /// training. Packed weights bring a type of their own, PackedWeight::type().
  ComputeType plain_compute_type() const noexcept { return plain_compute_type_; }
  void set_plain_compute_type(ComputeType type) noexcept { plain_compute_type_ = type; }

  /// Dropout is applied only in training mode.
  bool training() const noexcept { return training_; }
  void set_training(bool training) noexcept { training_ = training; }

  /// Whether ops::recompute() keeps only what goes in and out of its body, and computes the rest again in the backward
  /// pass.
  bool recomputes() const noexcept { return recomputes_; }
  void set_recomputes(bool recomputes) noexcept { recomputes_ = recomputes; }

  /// Randomness of what is run from now on. Without it next_random() is an error.
  void set_random(std::uint64_t seed, std::uint64_t step);
  /// The state for one random op; the next call gets another stream.
  RandomState next_random();
  /// The stream that the next random op of the step gets; set by who runs some of them again.
  std::uint64_t random_stream() const noexcept { return random_stream_; }
  void set_random_stream(std::uint64_t stream) noexcept { random_stream_ = stream; }
  /// A number of [0, 1) for the host to decide by, of a stream of its own as next_random() gives one. What is decided
  /// is another thing in the next step, so that step cannot be recorded.
  double next_uniform();

  /// Runs one step: frees the step memory of the last one, then calls prepare() and body(), and returns what body()
  /// returns.
  ///
  /// A device may keep the kernel calls of a body and make them again, without calling it, for the next step of an
  /// equal key. So prepare() does what the host has to do every time, checks, bookkeeping, uploads, and returns the
  /// key, which must name all that the body looks at besides the contents of device memory. body() does nothing but run
  /// ops: its uploads are errors on such a device, and all that it leaves behind is in its (copyable) result. On other
  /// devices both simply run.
  template <class Prepare, class Body>
  auto step(Prepare&& prepare, Body&& body) -> std::invoke_result_t<Body> {
    start_step();
    const StepKey key = prepare();
    if (recorder_ == nullptr || key == StepKey::never() || attention_observer_ != nullptr) return body();
    return recorded_step(key, body);
  }
  /// A step that is never recorded.
  template <class Body>
  void step(Body&& body) {
    start_step();
    body();
  }
  /// Whether the device keeps steps. Then numbers that change from step to step are rounded up to buckets, so that
  /// fewer steps differ; elsewhere bucket(n) is n.
  bool records() const noexcept { return recorder_ != nullptr; }
  std::int64_t bucket(std::int64_t n, std::int64_t size = 32) const noexcept {
    return records() ? (n + size - 1) / size * size : n;
  }
  /// The same of numbers that grow with the square of something: rounded up by at most a quarter.
  std::int64_t coarse_bucket(std::int64_t n) const noexcept {
    const int digits = std::bit_width(static_cast<std::uint64_t>(n));
    return bucket(n, digits > 3 ? std::int64_t{1} << (digits - 3) : 1);
  }
  StepRecorder* recorder() const noexcept { return recorder_.get(); }
  void set_recorder(std::unique_ptr<StepRecorder> recorder) noexcept { recorder_ = std::move(recorder); }

 private:
  friend class LayerMemory;
  /// The result of a recorded body, with what else it leaves in the context.
  template <class Output>
  struct Kept {
    Output output;
    std::uint64_t random_stream;
    Arena::Mark arena;
  };
  /// From the start of a body to its end or its exception.
  class BodyScope {
   public:
    BodyScope(Context& context, const StepSignature& signature) : context_(context) {
      context_.recorder_->begin(signature);
      context_.in_body_ = true;
    }
    BodyScope(const BodyScope&) = delete;
    BodyScope& operator=(const BodyScope&) = delete;
    ~BodyScope() {
      context_.in_body_ = false;
      if (!ended_) context_.recorder_->abandon();
    }
    void end(std::any output) {
      context_.recorder_->end(std::move(output));
      ended_ = true;
    }

   private:
    Context& context_;
    bool ended_ = false;
  };

  template <class Body>
  auto recorded_step(const StepKey& key, Body& body) -> std::invoke_result_t<Body> {
    using Output = std::invoke_result_t<Body>;
    const StepSignature signature{key,
                                  uploads_,
                                  arena_.generation() + gradients_.generation(),  // neither ever falls
                                  random_stream_,
                                  plain_compute_type_,
                                  training_,
                                  tape_ != nullptr};
    if (const std::any* kept = recorder_->replay(signature)) {
      const auto& last = std::any_cast<const Kept<Output>&>(*kept);
      random_stream_ = last.random_stream;
      arena_.advance(last.arena);
      return last.output;
    }
    BodyScope scope(*this, signature);
    Kept<Output> kept{body(), random_stream_, arena_.mark()};
    scope.end(kept);
    return std::move(kept.output);
  }

  void start_step();
  void* upload_room(std::size_t bytes);
  const void* upload_bytes(const void* values, std::size_t bytes);

  const KernelTable* kernels_;
  Device device_;
  DeviceMemory* memory_;
  DType float_type_;
  core::Executor* executor_;
  Arena arena_;
  std::array<Arena, 2> layer_arenas_;
  RecycledMemory gradients_;
  Arena* current_arena_ = &arena_;
  Arena host_arena_;
  autograd::Tape* tape_ = nullptr;
  ops::AttentionObserver* attention_observer_ = nullptr;
  ComputeType plain_compute_type_ = ComputeType::kF32;
  bool training_ = false;
  bool recomputes_ = false;
  std::unique_ptr<StepRecorder> recorder_;
  std::vector<std::pair<const void*, std::size_t>> uploads_;  ///< of this step, where the device keeps steps
  bool in_body_ = false;
  Buffer random_key_;
  RandomKey host_random_key_;  ///< the same
  std::uint64_t random_stream_ = 0;
};

/// Lets a stack of layers work in the memory of two of them: what a layer allocates is freed when the next but one
/// begins, so a layer may read what the one before it left. Only where nobody looks at it later: it does nothing while
/// gradients are recorded, while somebody watches, and on devices that keep steps.
///
///     tensor::LayerMemory memory(context);
///     for (const Layer& layer : layers) {
///       memory.next_layer();
///       x = layer(context, x);
///     }
class LayerMemory {
 public:
  /// `wanted`: false makes an object that does nothing.
  explicit LayerMemory(Context& context, bool wanted = true);
  LayerMemory(const LayerMemory&) = delete;
  LayerMemory& operator=(const LayerMemory&) = delete;
  /// What the last layer left stays until the next object frees it.
  ~LayerMemory() { context_.current_arena_ = outer_; }
  void next_layer();

 private:
  Context& context_;
  Arena* outer_;
  bool active_;
  std::size_t next_ = 0;
};

/// Copies values into a tensor of the context's float type in step memory; for constants and tests.
Tensor copy_to_step(Context& context, std::span<const float> values, std::int64_t rows, std::int64_t cols);

/// Reads any host tensor of floats (F32, F64, F16, BF16) element by element.
double element(const Tensor& tensor, std::int64_t row, std::int64_t col);
void set_element(const Tensor& tensor, std::int64_t row, std::int64_t col, double value);

}  // namespace dragoman::tensor
