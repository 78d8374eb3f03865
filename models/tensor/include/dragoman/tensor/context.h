#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <exception>
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

/// Integers on the host and a copy of them that the device can read. Ops take both; kernels get the device copy only.
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
///
///     const runtime::Runtime runtime;                                   // runtime/runtime.h
///     core::SequentialExecutor executor;
///     const auto context = runtime.make_context(Device::kCpu, executor);
///     context->step([&] {
///       const Tensor x = copy_to_step(*context, std::vector<float>{1, 2, 3}, /*rows=*/1, /*cols=*/3);
///       std::cout << element(x, 0, 2);                                  // 3
///     });
///
/// Tensors in step memory are valid until the next step begins; see Tape::backward() for an exception.
class Context {
 public:
  /// `kernels`, `memory` and `executor` must outlive the context. `float_type` is the type of activations: F32, or F64
  /// on the reference backend.
  Context(const KernelTable& kernels, DeviceMemory& memory, DType float_type, core::Executor& executor)
      : Context(kernels, kernels.device(), memory, float_type, executor) {}
  /// Like the constructor above, for one of several devices of a kind. `memory` is the memory of that device.
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
  /// The kernels of the device. During the preparation of a step, the call first sends all pending uploads to the
  /// device. So call it after everything that the next kernel reads has been uploaded.
  const KernelTable& kernels() {
    if (!staged_runs_.empty()) flush_uploads();
    return *kernels_;
  }
  /// For inspecting the table. Kernels to be run come from the overload above, which flushes uploads.
  const KernelTable& kernels() const noexcept { return *kernels_; }
  DeviceMemory& memory() const noexcept { return *memory_; }
  core::Executor& executor() const noexcept { return *executor_; }
  /// The device's step memory, for tensors and the scratch of kernels.
  Arena& arena() noexcept { return *current_arena_; }
  /// The host's step memory, for data that ops keep until the step ends and for integers that are not yet uploaded.
  /// Kernels read it only through indices(), where host and device share their memory.
  Arena& host_arena() noexcept { return host_arena_; }

  /// Returns an uninitialised tensor in step memory, of the context's float type.
  Tensor allocate(std::int64_t rows, std::int64_t cols) { return arena_.allocate(rows, cols, float_type_, device()); }
  /// Like allocate(), but for results that are read after the step. They outlive the layer that creates them; see
  /// LayerMemory.
  Tensor allocate_for_step(std::int64_t rows, std::int64_t cols) {
    return arena_.allocate(rows, cols, float_type_, device());
  }
  /// Makes host values readable by kernels until the step ends. On devices that read host memory nothing is copied, so
  /// `values` must outlive the step. The uploads of a step's preparation are gathered. They go to the device in one
  /// copy, before the first kernel that may read them.
  template <class T>
  DeviceArray<T> upload(std::span<const T> values) {
    const void* data = memory_->reads_host_memory() ? values.data() : upload_bytes(values.data(), values.size_bytes());
    return {static_cast<const T*>(data), static_cast<std::int64_t>(values.size())};
  }
  /// Returns room for `count` values that kernels of the preparation fill, placed like an upload. For devices that
  /// cannot read host memory.
  template <class T>
  DeviceArray<T> room_for(std::int64_t count) {
    return {static_cast<const T*>(upload_room(static_cast<std::size_t>(count) * sizeof(T))), count};
  }
  /// Like upload(), but for values that do not outlive the step.
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
  /// `values` must outlive the result, which refers to them.
  Indices indices(std::span<const std::int32_t> values) { return {values, upload(values).data}; }
  void indices(const std::same_as<std::vector<std::int32_t>> auto&& temporary) = delete;

  /// Returns the extension of type T; nullptr if none is attached. Costs one load.
  template <class T>
  T* extension() const noexcept {
    return static_cast<T*>(extensions_[T::kSlot.index].get());
  }
  /// Attaches an extension, replacing the one in its slot. The context owns it.
  template <class T>
  T& attach(std::unique_ptr<T> extension) {
    T& attached = *extension;
    extensions_[T::kSlot.index] = std::move(extension);
    return attached;
  }

  /// Runs one step: frees the step memory of the previous step, calls prepare() and body(), and returns the result of
  /// body().
  ///
  /// A device may record the kernel calls of a body and replay them for the next step with an equal key, without
  /// calling the body. This divides the work:
  ///
  /// - prepare() does everything that the host must do in every step: checks, bookkeeping and uploads. It returns the
  ///   key. The key must cover everything that the body depends on except the contents of device memory.
  /// - body() runs ops only. Uploads in it are errors on a recording device. All its results must be in its return
  ///   value, which must be copyable.
  ///
  /// The body runs a second time if the device could not record the first attempt; no kernel of the first attempt has
  /// then run. Devices that do not record run both functions every time.
  template <class Prepare, class Body>
  auto step(Prepare&& prepare, Body&& body) -> std::invoke_result_t<Body> {
    start_step();
    const StepKey key = prepared(prepare);
    if (recorder_ == nullptr || key == StepKey::never() || !extensions_allow_recording()) return body();
    return recorded_step(key, body);
  }
  /// Runs a step that is never recorded.
  template <class Body>
  void step(Body&& body) {
    start_step();
    body();
  }
  /// Returns the step memory to the device. The results of the last step are invalid, and the next step allocates
  /// again. Call it before long work that needs other memory.
  void free_step_memory();
  /// Returns true if the device records steps. Then bucket() rounds numbers that vary between steps up to a multiple of
  /// `size`, so that fewer steps differ. On other devices bucket(n) is n.
  bool records() const noexcept { return recorder_ != nullptr; }
  std::int64_t bucket(std::int64_t n, std::int64_t size = 32) const noexcept {
    return records() ? (n + size - 1) / size * size : n;
  }
  /// Like bucket(), but for numbers that grow quadratically. Rounds up by at most a quarter.
  std::int64_t coarse_bucket(std::int64_t n) const noexcept {
    const int digits = std::bit_width(static_cast<std::uint64_t>(n));
    return bucket(n, digits > 3 ? std::int64_t{1} << (digits - 3) : 1);
  }
  /// Rounds a number of rows up, where steps are recorded: to a multiple of 8, and by at most a sixteenth from 128 on.
  std::int64_t row_bucket(std::int64_t rows) const noexcept {
    return bucket(rows, std::max(std::int64_t{8},
                                 static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)) / 16)));
  }
  StepRecorder* recorder() const noexcept { return recorder_.get(); }
  void set_recorder(std::unique_ptr<StepRecorder> recorder) noexcept { recorder_ = std::move(recorder); }

 private:
  friend class LayerMemory;
  /// The result of a recorded body, and the state of the context after it.
  template <class Output>
  struct Kept {
    Output output;
    ExtensionStates extensions;
    Arena::Mark arena;
  };
  /// Spans the run of a body, whether it returns or throws.
  class BodyScope {
   public:
    explicit BodyScope(Context& context) : context_(context) { context_.in_body_ = true; }
    BodyScope(const BodyScope&) = delete;
    BodyScope& operator=(const BodyScope&) = delete;
    ~BodyScope() { context_.in_body_ = false; }

   private:
    Context& context_;
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
    const BodyScope scope(*this);
    const Arena::Mark begin = arena_.mark();
    recorder_->begin(signature);
    while (true) {
      try {
        Kept<Output> kept{body(), extension_states(), arena_.mark()};
        if (recorder_->end(kept)) return std::move(kept.output);
      } catch (const std::exception& error) {
        if (!recorder_->abandon(error.what())) throw;
      } catch (...) {
        recorder_->abandon("an unknown exception");
        throw;
      }
      arena_.rewind(begin);
      restart_extensions(signature.extensions);
    }
  }

  void start_step();
  bool extensions_allow_recording() const;
  bool extensions_keep_results() const;
  ExtensionStates extension_states() const;
  void resume_extensions(const ExtensionStates& states);
  void restart_extensions(const ExtensionStates& states);
  std::size_t room_of_upload(std::size_t bytes) const noexcept;
  void* upload_room(std::size_t bytes);
  const void* upload_bytes(const void* values, std::size_t bytes);
  void stage(std::byte* to, const void* values, std::size_t bytes);
  void flush_uploads();

  /// Contiguous device memory that receives the bytes [begin, end) of staged_bytes_.
  struct StagedRun {
    std::byte* to;
    std::size_t begin;
    std::size_t end;
    std::byte* end_of_room;  ///< end of the last upload's room; `to` to here holds nothing else
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
  std::vector<std::pair<const void*, std::size_t>> uploads_;  ///< of this step; filled only if the device records steps
  std::vector<StagedRun> staged_runs_;
  std::vector<std::byte> staged_bytes_;
  bool staging_ = false;
  bool in_body_ = false;
};

/// Lets a stack of layers reuse the memory of two layers. The allocations of a layer are freed when the next but one
/// layer begins, so a layer may read the results of the previous one. Has no effect if results are read later: if an
/// extension of the context keeps them, or if the device records steps.
///
///     using Layer = std::function<Tensor(Context&, const Tensor&)>;
///     Tensor run(Context& context, const std::vector<Layer>& layers, Tensor x) {
///       LayerMemory memory(context);
///       for (const auto& layer : layers) {
///         memory.next_layer();
///         x = layer(context, x);
///       }
///       return x;
///     }
class LayerMemory {
 public:
  /// With `wanted` false, the object has no effect.
  explicit LayerMemory(Context& context, bool wanted = true);
  LayerMemory(const LayerMemory&) = delete;
  LayerMemory& operator=(const LayerMemory&) = delete;
  /// The memory of the last layer stays valid until the next LayerMemory frees it.
  ~LayerMemory() { context_.current_arena_ = outer_; }
  /// Begins a layer: frees the allocations of the layer before the previous one. Call it before each layer.
  void next_layer();

 private:
  Context& context_;
  Arena* outer_;
  bool active_;
  std::size_t next_ = 0;
};

/// Copies values into a tensor of the context's float type in step memory. For constants and tests.
Tensor copy_to_step(Context& context, std::span<const float> values, std::int64_t rows, std::int64_t cols);

/// Reads one element of a host tensor. Slow.
double element(const Tensor& tensor, std::int64_t row, std::int64_t col);
/// Writes one element of a host tensor of floats (F32, F64, F16 or BF16). Error{kUnsupported} for other types.
void set_element(const Tensor& tensor, std::int64_t row, std::int64_t col, double value);

}  // namespace dragoman::tensor
