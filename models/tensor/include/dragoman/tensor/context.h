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
#include <dragoman/tensor/context_extension.h>
#include <dragoman/tensor/device_array.h>
#include <dragoman/tensor/kernel_table.h>
#include <dragoman/tensor/step_recorder.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// Integers on the host together with the same integers where the device reads them. Ops take these, kernels only get
/// the device's.
struct Indices {
  std::span<const std::int32_t> host;
  const std::int32_t* device = nullptr;
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(host.size()); }
  operator DeviceArray<std::int32_t>() const noexcept { return {device, size()}; }  // NOLINT(google-explicit-*)
};

/// The environment of an op besides its operands: the device and its kernels, an executor, and the memory of the
/// current step. It belongs to one thread at a time; several contexts may share a kernel table and a device memory.
///
///  - Kernels use device(), memory(), executor() and arena().
///  - Ops also use kernels(), allocate() and upload().
///  - Loops run steps: step(), bucket(), records().
///  - Layers above attach their state to a context as extensions.
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
        host_arena_(host_memory()) {}

  Device device() const noexcept { return device_; }
  DType float_type() const noexcept { return float_type_; }
  /// In the preparation of a step, what has been uploaded so far goes to the device now, for the kernel that is run
  /// next: ask for it when all that it reads is uploaded.
  const KernelTable& kernels() {
    if (!staged_runs_.empty()) flush_uploads();
    return *kernels_;
  }
  /// To look at, not to run.
  const KernelTable& kernels() const noexcept { return *kernels_; }
  DeviceMemory& memory() const noexcept { return *memory_; }
  core::Executor& executor() const noexcept { return *executor_; }
  /// The device's step memory: tensors and kernels' scratch.
  Arena& arena() noexcept { return *current_arena_; }
  /// The host's step memory: what ops keep until the step ends, and integers that are yet to be uploaded. Kernels read
  /// it only through indices(), where host and device share their memory.
  Arena& host_arena() noexcept { return host_arena_; }

  /// Step memory of the context's float type; uninitialised.
  Tensor allocate(std::int64_t rows, std::int64_t cols) { return arena_.allocate(rows, cols, float_type_, device()); }
  /// The same for what is read after the step: it outlives the layer that makes it, see LayerMemory.
  Tensor allocate_for_step(std::int64_t rows, std::int64_t cols) {
    return arena_.allocate(rows, cols, float_type_, device());
  }
  /// Makes host values readable by kernels until the step ends. On host devices this is the same memory, so `values`
  /// must outlive the step. The uploads of a step's preparation are gathered and go to the device in one copy,
  /// before the first kernel that may read them.
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

  /// The extension of type T; nullptr if none is attached. Costs one load.
  template <class T>
  T* extension() const noexcept {
    return static_cast<T*>(extensions_[T::kSlot.index].get());
  }
  /// Attaches an extension in place of the one in its slot. The context owns it.
  template <class T>
  T& attach(std::unique_ptr<T> extension) {
    T& attached = *extension;
    extensions_[T::kSlot.index] = std::move(extension);
    return attached;
  }

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
    const StepKey key = prepared(prepare);
    if (recorder_ == nullptr || key == StepKey::never() || !extensions_allow_recording()) return body();
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
    ExtensionStates extensions;
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

  /// Gathers the uploads of a preparation. If the preparation throws, they are dropped.
  class StagingScope {
   public:
    explicit StagingScope(Context& context) : context_(context) { context_.staging_ = true; }
    StagingScope(const StagingScope&) = delete;
    StagingScope& operator=(const StagingScope&) = delete;
    ~StagingScope() {
      context_.staging_ = false;
      context_.staged_runs_.clear();
    }

   private:
    Context& context_;
  };

  template <class Prepare>
  StepKey prepared(Prepare& prepare) {
    const StagingScope scope(*this);
    const StepKey key = prepare();
    flush_uploads();
    return key;
  }

  template <class Body>
  auto recorded_step(const StepKey& key, Body& body) -> std::invoke_result_t<Body> {
    using Output = std::invoke_result_t<Body>;
    const StepSignature signature{key, uploads_, arena_.generation(), extension_states()};
    if (const std::any* kept = recorder_->replay(signature)) {
      const auto& last = std::any_cast<const Kept<Output>&>(*kept);
      resume_extensions(last.extensions);
      arena_.advance(last.arena);
      return last.output;
    }
    BodyScope scope(*this, signature);
    Kept<Output> kept{body(), extension_states(), arena_.mark()};
    scope.end(kept);
    return std::move(kept.output);
  }

  void start_step();
  bool extensions_allow_recording() const;
  bool extensions_keep_results() const;
  ExtensionStates extension_states() const;
  void resume_extensions(const ExtensionStates& states);
  std::size_t room_of_upload(std::size_t bytes) const noexcept;
  void* upload_room(std::size_t bytes);
  const void* upload_bytes(const void* values, std::size_t bytes);
  void stage(std::byte* to, const void* values, std::size_t bytes);
  void flush_uploads();

  /// Consecutive memory of the device, to be filled with the bytes [begin, end) of staged_bytes_.
  struct StagedRun {
    std::byte* to;
    std::size_t begin;
    std::size_t end;
    std::byte* end_of_room;  ///< of the last upload; up to there nothing else is on the device
  };

  const KernelTable* kernels_;
  Device device_;
  DeviceMemory* memory_;
  DType float_type_;
  core::Executor* executor_;
  Arena arena_;
  std::array<Arena, 2> layer_arenas_;
  Arena* current_arena_ = &arena_;
  Arena host_arena_;
  std::array<std::unique_ptr<ContextExtension>, ExtensionSlot::kCount> extensions_;
  std::unique_ptr<StepRecorder> recorder_;
  std::vector<std::pair<const void*, std::size_t>> uploads_;  ///< of this step, where the device keeps steps
  std::vector<StagedRun> staged_runs_;
  std::vector<std::byte> staged_bytes_;
  bool staging_ = false;
  bool in_body_ = false;
};

/// Lets a stack of layers work in the memory of two of them: what a layer allocates is freed when the next but one
/// begins, so a layer may read the results of the layer before it. Does nothing where results are read later: if an
/// extension of the context keeps them, or if the device records steps.
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
