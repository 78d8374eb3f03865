#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>
#include <dragoman/ops/types.h>

namespace dragoman::nn {

using autograd::Gradient;
using ops::Variable;
using tensor::Context;
using tensor::Tensor;

/// The initial distribution of a parameter.
struct Initialiser {
  enum class Kind : std::uint8_t { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  double value = 0;  ///< the constant; the bound of U(-value, value); the standard deviation of N(0, value)

  static Initialiser constant(double value) { return {Kind::kConstant, value}; }
  static Initialiser normal(double deviation) { return {Kind::kNormal, deviation}; }
  /// Glorot & Bengio 2010, eq. 16: U(-b, b) with b = gain * sqrt(6 / (inputs + outputs)).
  static Initialiser xavier_uniform(std::int64_t inputs, std::int64_t outputs, double gain = 1);
};

/// One named array of a model. A stored tensor of rank 1 has rows == 1. The memory of the value belongs to the
/// ParameterStore or to the owner that was passed to bind().
struct Parameter {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int rank = 2;
  Initialiser initialiser;
  /// Separate initialisers for equal shares of the rows; empty if `initialiser` applies to all rows.
  std::vector<Initialiser> share_initialisers{};
  /// True if weight() is used as the weight of a `linear` or of a projection to the vocabulary. prepare() packs such
  /// parameters. A parameter that is only ever a weight or a table may be stored in few bits.
  bool is_weight = false;
  /// For a weight: the number of projections of equal inputs and outputs that it stacks vertically.
  int projections = 1;
  /// True if weight() is used as the table of an `embedding`.
  bool is_table = false;
  /// Not trained: variable() has no gradient, and optimisers leave the value unchanged.
  bool frozen = false;
  Tensor value;
  /// The scales of a value that is stored as I8; see tensor::StoredMatrix.
  Tensor scales{};
  std::unique_ptr<const tensor::PackedWeight> packed;

  /// Returns the value, with its gradient if gradients are attached and the parameter is trained. A const model gives
  /// out mutable gradients, because a gradient is not part of the model.
  Variable variable() const noexcept { return {value, frozen ? nullptr : gradient.get()}; }
  ops::Weight weight() const noexcept { return {variable(), packed.get(), scales}; }

  std::unique_ptr<Gradient> gradient;
};

/// Options of ParameterStore::prepare().
struct PrepareOptions {
  /// If not empty, prepare() throws Error{kBadInput} for a value that is not finite. The message names this source of
  /// the values. Empty: values are not checked.
  std::string refuse_non_finite_of{};
  /// A hint that is appended to the message.
  std::string_view non_finite_hint{};
};

/// Owns the parameters of one model in the order of their construction. Names are unique dotted paths. Changes are not
/// thread-safe; afterwards any number of threads may read the store.
///
///     ParameterStore store;
///     Parameter& bias = Scope(store).vector("bias", 512, Initialiser::constant(0));
///     store.allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
///     store.initialise(/*seed=*/1);
///
/// The device memory must outlive the store, and the store the layers of its model.
class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  /// Adds a parameter. The reference is valid for the lifetime of the store. Error{kInvalidArgument} for a duplicate
  /// name, an empty shape, or a shape that exceeds any memory.
  Parameter& add(std::string name, std::int64_t rows, std::int64_t cols, int rank, Initialiser initialiser);

  const std::deque<Parameter>& all() const noexcept { return parameters_; }
  std::deque<Parameter>& all() noexcept { return parameters_; }
  /// Returns nullptr if there is no parameter of this name.
  const Parameter* find(std::string_view name) const;
  Parameter* find(std::string_view name);
  /// The number of values.
  std::int64_t count() const;
  /// The number of values in parameters that are not frozen.
  std::int64_t count_trained() const;

  /// Allocates all parameters end to end in one buffer of the given type. Each starts on a 64-byte boundary; the gaps
  /// are zero.
  void allocate(tensor::DeviceMemory& memory, tensor::DType dtype, tensor::Device device);
  /// Binds the parameters to memory that `owner` keeps alive, such as a mapped file. `values` has one contiguous tensor
  /// for each parameter, in the order of all(). Parameters that are only weights or tables may have any type that files
  /// store; all others must have the context's float type.
  ///
  /// The store can then be used and packed. initialise() and attach_gradients() need allocate() first. prepare() calls
  /// `release`, if given, with the values of each weight that it has packed. They will rarely be read again, so memory
  /// that can be reread from a file may be released.
  void bind(std::span<const tensor::StoredMatrix> values, std::shared_ptr<const void> owner,
            std::function<void(const Tensor&)> release = {});
  /// Draws every parameter from its initialiser. Parameter number i uses stream i, so its values do not depend on the
  /// other parameters.
  void initialise(std::uint64_t seed);
  /// The buffer of allocate(), [1, n].
  Tensor flat_values() const { return flat_; }

  /// Gives every parameter a gradient in one flat buffer, [1, n], laid out like flat_values().
  void attach_gradients(tensor::DeviceMemory& memory);
  Tensor flat_gradients() const { return flat_gradients_; }
  /// Marks all gradients as unwritten, so that the next backward pass assigns. Call it before the first micro-batch of
  /// an update.
  void begin_gradients();
  /// Zeroes the gradients that no backward pass has written. Call it before an update.
  void finish_gradients();
  /// Takes the complete gradient of one parameter of this store, and zeroes it if it was not written. It must not be
  /// written again until begin_gradients().
  void take_gradient(const Parameter& parameter);

  /// Returns, for each parameter, whether a backward pass has written its gradient. A recorded step returns this in its
  /// result. After a replay, the caller restores it with set_written_gradients().
  std::vector<bool> written_gradients() const;
  void set_written_gradients(const std::vector<bool>& written) const;

  /// Packs every weight that is not yet packed in `type`, for inference with the context's backend. Packs several at a
  /// time if the context's executor has threads. Afterwards packed weights are read-only and shared by all workers.
  /// Error{kInvalidArgument} if gradients are attached.
  void prepare(Context& context, tensor::ComputeType type, const PrepareOptions& options = {});

  /// The type that prepare() has packed weights for; kF32 if it has packed none.
  tensor::ComputeType compute_type() const noexcept { return compute_type_; }

  /// Throws Error{kBadInput} for the first value that is not finite. The message names the value and `source`, the
  /// origin of the values.
  void require_finite(const std::string& source, std::string_view hint = {}) const;

  /// Drops packed weights that were built from old values. Call it after writing to values directly; the functions of
  /// the store call it themselves.
  void values_changed();

  /// A number that changes whenever values, gradients or packed forms move; part of the keys of steps.
  std::int64_t generation() const noexcept { return generation_; }

  /// The memory of the values.
  tensor::DeviceMemory& memory() const noexcept {
    return values_.data() != nullptr ? values_.memory() : tensor::host_memory();
  }

 private:
  Tensor lay_out(tensor::Buffer& buffer, tensor::DeviceMemory& memory, tensor::DType dtype,
                 tensor::Device device) const;
  Tensor place(const Tensor& flat, std::int64_t offset, const Parameter& parameter) const;

  std::deque<Parameter> parameters_;
  core::TextViewMap<Parameter*> by_name_;  // keys refer to names in the deque
  tensor::Buffer values_;
  std::shared_ptr<const void> owner_;
  std::function<void(const Tensor&)> release_;
  tensor::Buffer gradients_;
  std::int64_t generation_ = 0;
  tensor::ComputeType compute_type_ = tensor::ComputeType::kF32;
  Tensor flat_;
  Tensor flat_gradients_;
};

/// The place where a layer registers its parameters: a store and a dotted prefix. Layers take a Scope in their
/// constructor, so a model consists of plain members:
///
///     class Block {
///      public:
///       Block(const Scope& scope, int d, int inner) : in_(scope / "in", d, inner), out_(scope / "out", inner, d) {}
///       Variable operator()(Context& context, const Variable& x) const {
///         return out_(context, in_(context, x, ops::Activation::kRelu));
///       }
///
///      private:
///       Linear in_;                                                     // layers.h
///       Linear out_;
///     };
class Scope {
 public:
  explicit Scope(ParameterStore& store, std::string prefix = {}) : store_(&store), prefix_(std::move(prefix)) {}
  Scope operator/(std::string_view name) const;
  Scope operator/(std::int64_t index) const { return *this / std::to_string(index); }
  /// Returns this scope for a layer that shares the parameters of an earlier layer. Then matrix() and vector() return
  /// the existing parameters. Each layer keeps separate state entries.
  Scope shared() const;
  /// Adds a matrix [rows, cols].
  Parameter& matrix(std::string_view name, std::int64_t rows, std::int64_t cols, Initialiser initialiser) const;
  /// Adds a vector [size].
  Parameter& vector(std::string_view name, std::int64_t size, Initialiser initialiser) const;

 private:
  Parameter& parameter(std::string_view name, std::int64_t rows, std::int64_t cols, int rank,
                       Initialiser initialiser) const;

  ParameterStore* store_;
  std::string prefix_;
  bool shared_ = false;
};

}  // namespace dragoman::nn
