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

/// Settings for all devices of one kind.
struct DeviceOptions {
  /// If true, the bits of a row do not depend on the rest of its batch, at any cost in speed.
  bool batch_invariant = false;
  /// The most bytes to allocate on each device; 0: no limit.
  std::uint64_t memory = 0;
  /// If true, measures the time of every kernel, which makes them slower. Read the times with Backend::kernel_times().
  bool kernel_times = false;
  /// The folder where the backend may cache measurements of the machine for later processes; empty: no cache.
  std::filesystem::path cache = {};
};

/// The amount of work that suits a device during translation. Results do not depend on it. 0 selects a value that suits
/// a CPU.
struct PreferredLoad {
  int workers = 0;                  ///< threads that translate on the device
  std::int64_t rows = 0;            ///< hypotheses that each thread has in flight
  std::int64_t encoder_tokens = 0;  ///< source tokens that are encoded together
  std::uint64_t state_bytes = 0;    ///< bytes of keys and values that each thread holds
};

/// The total time of all launches of one kernel. Backends that count the work of kernels tell it, too (ops/work.h).
struct KernelTime {
  std::string kernel;
  std::uint64_t launches = 0;
  double seconds = 0;   ///< device time, summed over all launches
  double products = 0;  ///< multiplications whose results are added up; 0: not counted
  double bytes = 0;     ///< of operands and results; 0: not counted
};

/// One kind of device: its kernels, the memory of each device, and their float type. The CPU and the reference backend
/// are built in; plugins add others (Registrar::add). Threads share a backend.
///
///     const runtime::Runtime runtime;                                   // runtime/runtime.h
///     const Backend& backend = runtime.backend(Device::kCpu);
///     std::cout << backend.name() << ": " << backend.describe();        // cpu: avx512
///
/// The runtime owns its backends, which live as long as it does. Unless stated otherwise, the const functions may be
/// called by any thread; configure() is called before contexts exist.
class Backend {
 public:
  /// `name` is the name that --device takes; see Device::of().
  explicit Backend(std::string_view name) : own_kernels_(Device::of(name)) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend();

  std::string_view name() const noexcept { return own_kernels_.device().backend(); }
  /// The kernels for contexts that are created from now on. A returned table lives as long as the backend and never
  /// changes.
  const KernelTable& kernels() const noexcept;
  /// Calls install(table) with a copy of the newest table, and then publishes the copy. If install() throws, the old
  /// table stays in use. Thread-safe: existing contexts keep the table that they were created with.
  void add_kernels(const std::function<void(KernelTable&)>& install);

  /// The number of devices of this kind on this machine; their numbers start at 0. If it is 0, the backend is loaded
  /// but cannot be used here.
  virtual int device_count() const = 0;
  /// The memory of device `number`, which must be below device_count(). It lives as long as the backend.
  virtual DeviceMemory& memory(int number) const = 0;
  /// The type that stores parameters and activations.
  virtual DType float_type() const = 0;
  /// Returns true if the kernels for packing and embedding accept a StoredMatrix of any type. Otherwise they accept
  /// only float_type().
  virtual bool takes_stored_types() const { return false; }
  /// Returns the type that packed weights are multiplied in for `choice`. It depends on the machine's instructions and
  /// never on a measurement, so that results are reproducible. Throws Error{kUnsupported} for a choice that the backend
  /// lacks. The default implementation supports fp32 only.
  virtual ComputeType inference_type(ComputeChoice choice) const;
  /// Returns the type that plain weights and their gradients are multiplied in. int8 is not available.
  virtual ComputeType training_type(ComputeChoice choice) const;
  /// Describes the parts of the backend that affect rounding, for bug reports and the records of training runs:
  /// "avx512, oneDNN 2.6.3". Results may differ in rounding between machines whose descriptions differ.
  virtual std::string describe() const = 0;
  /// Further lines for bug reports, which do not affect results: "oneDNN 2.6.3, which uses avx512_core".
  virtual std::vector<std::string> details() const { return {}; }
  /// Lists missing components that the devices need in order to work, or to work at full speed, and how to install
  /// them. One line for each component.
  virtual std::vector<std::string> missing() const { return {}; }
  /// Applies the options. Call it before contexts are created. If called more than once, the strictest value of each
  /// option applies. The default implementation requires nothing for batch invariance, and throws Error{kUnsupported}
  /// for a memory bound or kernel times.
  virtual void configure(const DeviceOptions& options);
  /// The kernels with the largest total time since configure(), largest first. Waits for the devices.
  virtual std::vector<KernelTime> kernel_times() const { return {}; }
  /// Returns the events since the last call that cost speed but change no result, one line each. Thread-safe.
  virtual std::vector<std::string> take_notices() const { return {}; }
  /// Returns the multiple that the row counts of training batches should be padded to, so that different batches have
  /// equal shapes. 1 means no padding, for devices that do not record steps.
  virtual std::int64_t row_bucket() const { return 1; }
  /// The preferred load of device `number`, which must be below device_count(), under the current configuration, for
  /// models whose weights are packed for `type`.
  virtual PreferredLoad preferred_load(int number, ComputeType type) const;
  /// Returns the recorder for the steps of `context`; nullptr if devices of this kind do not record steps.
  virtual std::unique_ptr<StepRecorder> make_recorder(Context& context) const;

 protected:
  /// The built-in kernel table, filled by the constructors of subclasses.
  KernelTable& own_kernels() noexcept { return own_kernels_; }

 private:
  KernelTable own_kernels_;
  /// Null until add_kernels() is first called.
  core::Versioned<std::shared_ptr<const KernelTable>> extended_;
};

}  // namespace dragoman::tensor
