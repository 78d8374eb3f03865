#include "dragoman/nn/parameters.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {
namespace {

/// 16 floats or 8 doubles: one cache line.
constexpr std::int64_t kAlignment = 16;

std::int64_t padded_size(const Parameter& parameter) {
  return (parameter.rows * parameter.cols + kAlignment - 1) / kAlignment * kAlignment;
}

void fill(const Parameter& parameter, tensor::DeviceMemory& memory, std::uint64_t seed, std::uint64_t stream) {
  const auto view = tensor::HostView::to_be_written(memory, parameter.value);
  const std::vector<Initialiser>& shares = parameter.share_initialisers;
  const auto count = static_cast<std::int64_t>(shares.size());
  for (std::int64_t i = 0; i < parameter.rows; ++i) {
    const Initialiser& initialiser =
        shares.empty() ? parameter.initialiser : shares[static_cast<std::size_t>(i * count / parameter.rows)];
    for (std::int64_t j = 0; j < parameter.cols; ++j) {
      const auto index = static_cast<std::uint64_t>(i * parameter.cols + j);
      double value = initialiser.value;
      if (initialiser.kind == Initialiser::Kind::kUniform)
        value *= 2 * core::random_uniform(seed, stream, index) - 1;
      else if (initialiser.kind == Initialiser::Kind::kNormal)
        value *= core::random_normal(seed, stream, index);
      tensor::set_element(view.tensor(), i, j, value);
    }
  }
  view.store();
}

/// Returns true if one of `count` elements is infinite or NaN: all bits of its exponent are set.
template <class Bits>
bool any_not_finite(const Bits* bits, std::int64_t count, Bits exponent) {
  unsigned any = 0;
  for (std::int64_t i = 0; i < count; ++i) any |= static_cast<unsigned>((bits[i] & exponent) == exponent);
  return any != 0;
}

bool any_not_finite(const Tensor& tensor, std::int64_t row) {
  switch (tensor.dtype) {
    case tensor::DType::kF32:
      return any_not_finite<std::uint32_t>(tensor.row<std::uint32_t>(row), tensor.cols, 0x7F800000);
    case tensor::DType::kF64:
      return any_not_finite<std::uint64_t>(tensor.row<std::uint64_t>(row), tensor.cols, 0x7FF0000000000000);
    case tensor::DType::kF16:
      return any_not_finite<std::uint16_t>(tensor.row<std::uint16_t>(row), tensor.cols, 0x7C00);
    case tensor::DType::kBF16:
      return any_not_finite<std::uint16_t>(tensor.row<std::uint16_t>(row), tensor.cols, 0x7F80);
    default:
      return false;  // integers
  }
}

[[noreturn]] void fail_not_finite(const std::string& source, const std::string& what, std::string_view hint) {
  core::fail(core::ErrorCode::kBadInput, "{}: {}; the file is damaged, or training diverged{}{}", source, what,
             hint.empty() ? "" : "; ", hint);
}

/// Requires that the largest integer times the scale is finite, too.
void require_finite_scales(const Parameter& parameter, tensor::DeviceMemory& memory, const std::string& source,
                           std::string_view hint) {
  constexpr float kLargestNumber = 128;
  const auto view = tensor::HostView::of(memory, parameter.scales);
  for (std::int64_t row = 0; row < view.tensor().cols; ++row) {
    const float scale = view.tensor().as<float>()[row];
    if (!std::isfinite(scale * kLargestNumber))
      fail_not_finite(source, fmt::format("the scale of row {} of the tensor '{}' is {}", row, parameter.name, scale),
                      hint);
  }
}

void require_finite_values(const Parameter& parameter, tensor::DeviceMemory& memory, const std::string& source,
                           std::string_view hint) {
  if (!parameter.scales.empty()) return require_finite_scales(parameter, memory, source, hint);
  const auto view = tensor::HostView::of(memory, parameter.value);
  core::StopCheck check("checking weights");
  for (std::int64_t row = 0; row < parameter.rows; ++row) {
    check(static_cast<std::size_t>(parameter.cols));
    if (!any_not_finite(view.tensor(), row)) continue;
    std::int64_t col = 0;
    while (std::isfinite(tensor::element(view.tensor(), row, col))) ++col;
    const std::string place = parameter.rank == 1 ? std::to_string(col) : fmt::format("{}, {}", row, col);
    fail_not_finite(source,
                    fmt::format("the tensor '{}' holds {} at [{}]", parameter.name,
                                tensor::element(view.tensor(), row, col), place),
                    hint);
  }
}

}  // namespace

Initialiser Initialiser::xavier_uniform(std::int64_t inputs, std::int64_t outputs, double gain) {
  return {Kind::kUniform, gain * std::sqrt(6.0 / static_cast<double>(inputs + outputs))};
}

Parameter& ParameterStore::add(std::string name, std::int64_t rows, std::int64_t cols, int rank,
                               Initialiser initialiser) {
  core::require(find(name) == nullptr, core::ErrorCode::kInvalidArgument, "the parameter '{}' is registered twice",
                name);
  core::require(rows > 0 && cols > 0, core::ErrorCode::kInvalidArgument,
                "the parameter '{}' has the empty shape [{}, {}]", name, rows, cols);
  // Prevents overflow in sums of sizes. The limit is far above any machine's memory.
  constexpr std::int64_t kMaxValues = std::int64_t{1} << 45;
  core::require(rows <= kMaxValues / cols, core::ErrorCode::kInvalidArgument,
                "the parameter '{}' has the shape [{}, {}], which no memory holds", name, rows, cols);
  Parameter& parameter = parameters_.emplace_back();
  parameter.name = std::move(name);
  parameter.rows = rows;
  parameter.cols = cols;
  parameter.rank = rank;
  parameter.initialiser = initialiser;
  by_name_.emplace(parameter.name, &parameter);
  return parameter;
}

const Parameter* ParameterStore::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Parameter* ParameterStore::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::int64_t ParameterStore::count() const {
  std::int64_t total = 0;
  for (const Parameter& parameter : parameters_) total += parameter.rows * parameter.cols;
  return total;
}

std::int64_t ParameterStore::count_trained() const {
  std::int64_t total = 0;
  for (const Parameter& parameter : parameters_)
    if (!parameter.frozen) total += parameter.rows * parameter.cols;
  return total;
}

Tensor ParameterStore::lay_out(tensor::Buffer& buffer, tensor::DeviceMemory& memory, tensor::DType dtype,
                               tensor::Device device) const {
  std::int64_t total = 0;
  for (const Parameter& parameter : parameters_) total += padded_size(parameter);
  const auto bytes = static_cast<std::size_t>(total) * tensor::size_of(dtype);
  buffer = tensor::Buffer(memory, bytes);
  constexpr std::size_t kAtOnce = std::size_t{1} << 26;  // new memory takes a second per few gigabytes
  for (std::size_t at = 0; at < bytes; at += kAtOnce) {
    core::check_stop("allocating weights");
    memory.clear(static_cast<std::byte*>(buffer.data()) + at, std::min(kAtOnce, bytes - at));
  }
  return {buffer.data(), 1, total, total, dtype, device};
}

Tensor ParameterStore::place(const Tensor& flat, std::int64_t offset, const Parameter& parameter) const {
  Tensor view = flat.col_range(offset, offset + parameter.rows * parameter.cols);
  view.rows = parameter.rows;
  view.cols = parameter.cols;
  view.stride = parameter.cols;
  return view;
}

void ParameterStore::values_changed() {
  generation_ = tensor::next_generation();
  compute_type_ = tensor::ComputeType::kF32;
  for (Parameter& parameter : parameters_) parameter.packed.reset();
}

void ParameterStore::allocate(tensor::DeviceMemory& memory, tensor::DType dtype, tensor::Device device) {
  for (const Parameter& parameter : parameters_)
    core::require(parameter.gradient == nullptr, core::ErrorCode::kInvalidArgument,
                  "'{}' has a gradient, which belongs to the memory that it has", parameter.name);
  values_changed();
  release_ = nullptr;
  flat_ = lay_out(values_, memory, dtype, device);
  owner_.reset();
  std::int64_t offset = 0;
  for (Parameter& parameter : parameters_) {
    parameter.value = place(flat_, offset, parameter);
    parameter.scales = {};
    offset += padded_size(parameter);
  }
}

void ParameterStore::bind(std::span<const tensor::StoredMatrix> values, std::shared_ptr<const void> owner,
                          std::function<void(const Tensor&)> release) {
  core::require(values.size() == parameters_.size(), core::ErrorCode::kInvalidArgument,
                "{} tensors were given for {} parameters", values.size(), parameters_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor::require_shape(values[i].values, parameters_[i].rows, parameters_[i].cols, parameters_[i].name);
    core::require(
        values[i].values.contiguous() && parameters_[i].gradient == nullptr, core::ErrorCode::kInvalidArgument,
        "'{}' cannot be bound: its values must be contiguous and it must have no gradient", parameters_[i].name);
  }
  values_changed();
  for (std::size_t i = 0; i < values.size(); ++i) {
    parameters_[i].value = values[i].values;
    parameters_[i].scales = values[i].scales;
  }
  values_ = {};
  flat_ = {};
  owner_ = std::move(owner);
  release_ = std::move(release);
}

void ParameterStore::initialise(std::uint64_t seed) {
  core::require(!flat_.empty() || parameters_.empty(), core::ErrorCode::kInvalidArgument,
                "allocate() the parameters before initialising them");
  values_changed();
  std::uint64_t stream = 0;
  for (const Parameter& parameter : parameters_) fill(parameter, values_.memory(), seed, stream++);
}

void ParameterStore::attach_gradients(tensor::DeviceMemory& memory) {
  generation_ = tensor::next_generation();
  core::require(!flat_.empty(), core::ErrorCode::kInvalidArgument,
                "allocate() the parameters before attaching gradients");
  flat_gradients_ = lay_out(gradients_, memory, flat_.dtype, flat_.device);
  std::int64_t offset = 0;
  for (Parameter& parameter : parameters_) {
    parameter.gradient = std::make_unique<Gradient>(
        Gradient{place(flat_gradients_, offset, parameter), parameter.rows, parameter.cols, false});
    offset += padded_size(parameter);
  }
}

void ParameterStore::begin_gradients() {
  for (const Parameter& parameter : parameters_) {
    Gradient& gradient = *parameter.gradient;
    gradient.written = gradient.taken = false;
    gradient.first_record = Gradient::kNoRecord;
  }
}

void ParameterStore::finish_gradients() {
  for (const Parameter& parameter : parameters_) {
    if (parameter.gradient->written) continue;
    tensor::queue_clear(gradients_.memory(), parameter.gradient->value);
    parameter.gradient->written = true;
  }
}

void ParameterStore::take_gradient(const Parameter& parameter) {
  Gradient& gradient = *parameter.gradient;
  if (!gradient.written) tensor::clear(gradients_.memory(), gradient.value);
  gradient.written = gradient.taken = true;
}

std::vector<bool> ParameterStore::written_gradients() const {
  std::vector<bool> written;
  written.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_)
    written.push_back(parameter.gradient != nullptr && parameter.gradient->written);
  return written;
}

void ParameterStore::set_written_gradients(const std::vector<bool>& written) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].gradient != nullptr) parameters_[i].gradient->written = written[i];
}

void ParameterStore::prepare(Context& context, tensor::ComputeType type, const PrepareOptions& options) {
  generation_ = tensor::next_generation();
  auto* pack = context.kernels().find(ops::kPackWeight);
  std::vector<std::exception_ptr> errors(parameters_.size());
  const auto prepare_one = [&](Parameter& parameter) {
    core::require(parameter.gradient == nullptr, core::ErrorCode::kInvalidArgument,
                  "'{}' has a gradient: pack weights for inference only", parameter.name);
    if (!options.refuse_non_finite_of.empty())
      require_finite_values(parameter, context.memory(), options.refuse_non_finite_of, options.non_finite_hint);
    core::check_stop("packing weights");
    if (pack == nullptr || !parameter.is_weight) return;
    if (parameter.packed != nullptr && parameter.packed->type() == type) return;
    parameter.packed = pack(context, parameter.weight().stored(), type);
    if (parameter.packed != nullptr && release_) release_(parameter.value);
  };
  // In host memory, packing uses no queue of the context, so it may run on several threads.
  core::SequentialExecutor alone;
  core::Executor& executor = context.memory().reads_host_memory() ? context.executor() : alone;
  const std::stop_token stop = core::StopScope::current();
  executor.for_each(static_cast<std::int64_t>(parameters_.size()), [&](std::int64_t i) {
    const core::StopScope scope(stop);
    const auto index = static_cast<std::size_t>(i);
    try {
      prepare_one(parameters_[index]);
    } catch (...) {
      errors[index] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
  const auto is_packed = [](const Parameter& parameter) { return parameter.packed != nullptr; };
  compute_type_ = std::ranges::any_of(parameters_, is_packed) ? type : tensor::ComputeType::kF32;
}

void ParameterStore::require_finite(const std::string& source, std::string_view hint) const {
  for (const Parameter& parameter : parameters_) require_finite_values(parameter, memory(), source, hint);
}

Scope Scope::operator/(std::string_view name) const {
  Scope inner(*store_, prefix_.empty() ? std::string(name) : prefix_ + "." + std::string(name));
  inner.shared_ = shared_;
  return inner;
}

Scope Scope::shared() const {
  Scope scope = *this;
  scope.shared_ = true;
  return scope;
}

Parameter& Scope::parameter(std::string_view name, std::int64_t rows, std::int64_t cols, int rank,
                            Initialiser initialiser) const {
  std::string path = (*this / name).prefix_;
  if (!shared_) return store_->add(std::move(path), rows, cols, rank, initialiser);
  Parameter* const there = store_->find(path);
  core::require(there != nullptr && there->rows == rows && there->cols == cols && there->rank == rank,
                core::ErrorCode::kInvalidArgument, "there is no parameter '{}' of shape [{}, {}] to be shared", path,
                rows, cols);
  return *there;
}

Parameter& Scope::matrix(std::string_view name, std::int64_t rows, std::int64_t cols, Initialiser initialiser) const {
  return parameter(name, rows, cols, 2, initialiser);
}

Parameter& Scope::vector(std::string_view name, std::int64_t size, Initialiser initialiser) const {
  return parameter(name, 1, size, 1, initialiser);
}

}  // namespace dragoman::nn
