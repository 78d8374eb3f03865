#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dragoman/core/versioned.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/dtype.h>
#include <dragoman/tensor/kernel_table.h>
#include <dragoman/tensor/step_recorder.h>

namespace dragoman::tensor {

class Context;

/// How devices of a kind are to be used.
struct DeviceOptions {
  /// A row of a batch is computed in such a way that its bits depend on nothing else in the batch, whatever that costs.
  bool batch_invariant = false;
  /// Bytes that may be taken of each device's memory; 0: what there is.
  std::uint64_t memory = 0;
  /// Take the time of every kernel, which takes time itself: Backend::kernel_times().
  bool kernel_times = false;
  /// Where it may keep what it finds out about the machine, for later processes; empty: nowhere.
  std::filesystem::path cache = {};
};

/// How much of a translation a device is best given at a time. Results do not depend on it. 0: as it suits a CPU.
struct PreferredLoad {
  int workers = 0;                  ///< threads that translate on the device
  std::int64_t rows = 0;            ///< hypotheses that each has in flight
  std::int64_t encoder_tokens = 0;  ///< source tokens that are encoded together
  std::uint64_t state_bytes = 0;    ///< keys and values that each holds
};

/// All launches of a kernel.
struct KernelTime {
  std::string kernel;
  std::uint64_t launches = 0;
  double seconds = 0;  ///< on the device, in all
};

/// One kind of device: its kernels, the memory of each of its devices, and the type that they compute in. The CPU and
/// the reference backend are built in; others come from plugins (Registrar::add). Shared by threads.
class Backend {
 public:
  /// `name` is what --device calls it; see Device::of().
  explicit Backend(std::string_view name) : own_kernels_(Device::of(name)) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend();

  std::string_view name() const noexcept { return own_kernels_.device().backend(); }
  /// The kernels for contexts that are made from now on. The table stays as it is as long as the backend lives.
  const KernelTable& kernels() const noexcept;
  /// Calls install(table) with a copy of the newest table, which then takes its place. If it throws, the old one stays.
  /// Thread-safe: contexts that other threads use keep the table that they were made with.
  void add_kernels(const std::function<void(KernelTable&)>& install);

  /// How many devices of this kind are here, numbered from 0. None: the backend works, but not on this machine.
  virtual int device_count() const = 0;
  /// Memory of device `number`, which is below device_count(). Lives as long as the backend.
  virtual DeviceMemory& memory(int number) const = 0;
  /// What parameters and activations are kept in.
  virtual DType float_type() const = 0;
  /// Whether its kernels for packing and embedding take a StoredMatrix of any type; else of float_type() alone.
  virtual bool takes_stored_types() const { return false; }
  /// What packed weights are multiplied in when a user asks for `choice`: a table of the machine's instructions, never
  /// a timing, so that results stay what they are. Error{kUnsupported} for what the backend does not have; fp32 is all
  /// that one has which does not say otherwise.
  virtual ComputeType inference_type(ComputeChoice choice) const;
  /// Returns the type for plain weights, which training multiplies together with their gradients. int8 is not
  /// available.
  virtual ComputeType training_type(ComputeChoice choice) const;
  /// What it computes with, in the words that a bug report needs and a training run records: "avx512, oneDNN 2.6.3".
  /// Results may differ in rounding where this differs.
  virtual std::string describe() const = 0;
  /// What else a bug report needs and results do not depend on, a line each: "oneDNN 2.6.3, which uses avx512_core".
  virtual std::vector<std::string> details() const { return {}; }
  /// What it would take for the devices to work, or to work at their speed, and is not here, with how to get it; a line
  /// each.
  virtual std::vector<std::string> missing() const { return {}; }
  /// Before contexts are made. Who asks again adds to it: of all that was asked for the strictest holds. A backend that
  /// does not say otherwise is batch-invariant as it is, its memory is the host's, and nobody times its kernels: to ask
  /// for the latter two is Error{kUnsupported}.
  virtual void configure(const DeviceOptions& options);
  /// Since it was configured so, those first that took the most; waits for the devices.
  virtual std::vector<KernelTime> kernel_times() const { return {}; }
  /// What rows of training batches are best rounded up to, with rows that do not count, so that one batch has the
  /// shapes of another; 1, the least: not at all, where steps are not kept.
  virtual std::int64_t row_bucket() const { return 1; }
  /// For device `number`, which is below device_count(), as it is configured.
  virtual PreferredLoad preferred_load(int number) const;
  /// What keeps the steps of a context on one of the devices; nullptr if this kind of device does not keep steps.
  virtual std::unique_ptr<StepRecorder> make_recorder(Context& context) const;

 protected:
  /// For the constructors of backends, which fill it.
  KernelTable& own_kernels() noexcept { return own_kernels_; }

 private:
  KernelTable own_kernels_;
  /// Null: nothing was added to the backend's own.
  core::Versioned<std::shared_ptr<const KernelTable>> extended_;
};

}  // namespace dragoman::tensor
