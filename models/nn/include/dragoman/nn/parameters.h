#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <dragoman/core/hash.h>
#include <dragoman/ops/types.h>

namespace dragoman::nn {

using autograd::Gradient;
using ops::Variable;
using tensor::Context;
using tensor::Tensor;

/// How a parameter starts out.
struct Initialiser {
  enum class Kind : std::uint8_t { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  double value = 0;  ///< the constant; the bound of U(-value, value); the standard deviation of N(0, value)

  static Initialiser constant(double value) { return {Kind::kConstant, value}; }
  static Initialiser normal(double deviation) { return {Kind::kNormal, deviation}; }
  /// Glorot & Bengio 2010, eq. 16: U(-b, b) with b = gain * sqrt(6 / (inputs + outputs)).
  static Initialiser xavier_uniform(std::int64_t inputs, std::int64_t outputs, double gain = 1);
};

/// One named array of a model. A stored tensor of rank 1 has rows == 1. Its memory belongs to the ParameterStore, or to
/// whoever bound it.
struct Parameter {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int rank = 2;
  Initialiser initialiser;
  /// Of equal shares of the rows, where they start out differently; else empty.
  std::vector<Initialiser> share_initialisers{};
  /// Used as the weight of a `linear` or of a projection to the vocabulary, through weight(), and so packed by
  /// prepare(). What is a weight or a table, and nothing else, may be stored in few bits.
  bool is_weight = false;
  /// Of a weight: how many projections of equal inputs and outputs stand in it, one below the other.
  int projections = 1;
  /// Used as the table of an `embedding`, through weight().
  bool is_table = false;
  /// Not trained: variable() gives no gradient, and optimisers leave the value alone.
  bool frozen = false;
  Tensor value;
  /// Of a value that is stored as I8: see tensor::StoredMatrix.
  Tensor scales{};
  std::unique_ptr<const tensor::PackedWeight> packed;

  /// The value with its gradient if gradients are attached and it is trained. Const models hand out mutable gradients:
  /// a gradient is not part of the model.
  Variable variable() const noexcept { return {value, frozen ? nullptr : gradient.get()}; }
  ops::Weight weight() const noexcept { return {variable(), packed.get(), scales}; }

  std::unique_ptr<Gradient> gradient;
};

struct PrepareOptions {
  /// What the values came from, for the message of the Error{kBadInput} that refuses a value which is not a finite
  /// number. Empty: values are not looked at.
  std::string refuse_non_finite_of{};
  /// What else the message says.
  std::string_view non_finite_hint{};
};

/// Owns the parameters of one model in the order of their construction. Names are unique, dotted paths. Not thread-safe
/// while it is being changed; any number of threads may read it afterwards.
class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  /// The returned reference stays valid for the store's lifetime. Throws Error{kInvalidArgument} for a name that is
  /// taken, and for a shape that is empty or that no memory holds.
  Parameter& add(std::string name, std::int64_t rows, std::int64_t cols, int rank, Initialiser initialiser);

  const std::deque<Parameter>& all() const noexcept { return parameters_; }
  std::deque<Parameter>& all() noexcept { return parameters_; }
  const Parameter* find(std::string_view name) const;
  Parameter* find(std::string_view name);
  /// Number of values.
  std::int64_t count() const;
  /// Of those that are not frozen.
  std::int64_t count_trained() const;

  /// Puts all parameters end to end in one buffer of the given type (each starts on a 64-byte boundary; the gaps are
  /// zero).
  void allocate(tensor::DeviceMemory& memory, tensor::DType dtype, tensor::Device device);
  /// Lets the parameters view memory that `owner` keeps alive, such as a mapped file, instead of memory of their own:
  /// one contiguous tensor for each, in the order of all(). The store can then be used and packed; initialise() and
  /// attach_gradients() need allocate() first. `release`, if given, is called with the values of each weight that
  /// prepare() has packed: they are not read again soon, so that memory that can come back from a file may go.
  /// Weights and tables, if they are nothing else, may be of any type that files store; all others are of the context's
  /// float type.
  void bind(std::span<const tensor::StoredMatrix> values, std::shared_ptr<const void> owner,
            std::function<void(const Tensor&)> release = {});
  /// Draws every parameter as its initialiser says; parameter number i uses stream i, so one parameter's values do not
  /// depend on the others.
  void initialise(std::uint64_t seed);
  /// The buffer behind allocate(), [1, n].
  Tensor flat_values() const { return flat_; }

  /// Gives every parameter a gradient in one flat buffer, [1, n], laid out like flat_values().
  void attach_gradients(tensor::DeviceMemory& memory);
  Tensor flat_gradients() const { return flat_gradients_; }
  /// Marks all gradients as unwritten: the next backward pass assigns. Call it before the first micro-batch of an
  /// update.
  void begin_gradients();
  /// Zeroes the gradients that no backward pass has written. Call it before an update.
  void finish_gradients();
  /// The same of one parameter of this store, whose gradient is complete, and is not written any more until
  /// begin_gradients().
  void take_gradient(const Parameter& parameter);

  /// Which gradients a backward pass has written, by parameter. A recorded step leaves this in its result, and the
  /// store is told again when the step was replayed.
  std::vector<bool> written_gradients() const;
  void set_written_gradients(const std::vector<bool>& written) const;

  /// Packs every weight that is not packed yet in this type for inference with the context's backend (afterwards
  /// read-only and shared by all workers), several at a time where the context's executor has threads. Gradients must
  /// not be attached.
  void prepare(Context& context, tensor::ComputeType type, const PrepareOptions& options = {});

  /// What prepare() has packed weights for; kF32 where it has packed none.
  tensor::ComputeType compute_type() const noexcept { return compute_type_; }

  /// Error{kBadInput} that names the first value which is not a finite number, and `source`, where it came from.
  void require_finite(const std::string& source, std::string_view hint = {}) const;

  /// Drops what prepare() made of the values that were. For whoever writes into values(); the store's own functions
  /// call it.
  void values_changed();

  /// Another one whenever values, gradients or packed forms have moved: part of the key of a step.
  std::int64_t generation() const noexcept { return generation_; }

  /// Where the values are.
  tensor::DeviceMemory& memory() const noexcept {
    return values_.data() != nullptr ? values_.memory() : tensor::host_memory();
  }

 private:
  Tensor lay_out(tensor::Buffer& buffer, tensor::DeviceMemory& memory, tensor::DType dtype,
                 tensor::Device device) const;
  Tensor place(const Tensor& flat, std::int64_t offset, const Parameter& parameter) const;

  std::deque<Parameter> parameters_;
  std::unordered_map<std::string_view, Parameter*, core::TextHash> by_name_;  // of names in the deque
  tensor::Buffer values_;
  std::shared_ptr<const void> owner_;
  std::function<void(const Tensor&)> release_;
  tensor::Buffer gradients_;
  std::int64_t generation_ = 0;
  tensor::ComputeType compute_type_ = tensor::ComputeType::kF32;
  Tensor flat_;
  Tensor flat_gradients_;
};

/// Where a layer registers its parameters: a store and a dotted prefix. Layers take one in their constructor, so a
/// model is plain members:
///
///     class FeedForward {
///       FeedForward(Scope scope, int d, int inner) : in_(scope / "in", d, inner), out_(scope / "out", inner, d) {}
class Scope {
 public:
  explicit Scope(ParameterStore& store, std::string prefix = {}) : store_(&store), prefix_(std::move(prefix)) {}
  Scope operator/(std::string_view name) const;
  Scope operator/(std::int64_t index) const { return *this / std::to_string(index); }
  /// The same place for a layer that has the parameters of one that was made before: matrix() and vector() give what is
  /// registered here. Each of the layers keeps state entries of its own.
  Scope shared() const;
  /// A matrix [rows, cols].
  Parameter& matrix(std::string_view name, std::int64_t rows, std::int64_t cols, Initialiser initialiser) const;
  /// A vector [size].
  Parameter& vector(std::string_view name, std::int64_t size, Initialiser initialiser) const;

 private:
  Parameter& parameter(std::string_view name, std::int64_t rows, std::int64_t cols, int rank,
                       Initialiser initialiser) const;

  ParameterStore* store_;
  std::string prefix_;
  bool shared_ = false;
};

}  // namespace dragoman::nn
