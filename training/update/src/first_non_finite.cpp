#include "update/first_non_finite.h"

#include "op_tensors.h"
#include "update/gradient_accumulator.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/quote.h>

namespace dragoman::training {
namespace {

using tensor::Context;
using tensor::Tensor;

bool is_float(const Tensor& tensor) {
  return tensor.dtype == tensor::DType::kF32 || tensor.dtype == tensor::DType::kF64;
}

/// Uses the kernel for such sums, which is not watched. Its precision suffices for float: squares of floats do not
/// overflow a double. Doubles occur only in the backend for verification.
bool is_finite(Context& context, const Tensor& tensor) {
  if (tensor.empty() || tensor.size() == 0 || !is_float(tensor)) return true;
  if (tensor.dtype == context.float_type()) return std::isfinite(ops::sum_of_squares(context, tensor));
  const auto view = tensor::HostView::of(context.memory(), tensor);
  for (std::int64_t i = 0; i < tensor.rows; ++i)
    for (std::int64_t j = 0; j < tensor.cols; ++j)
      if (!std::isfinite(tensor::element(view.tensor(), i, j))) return false;
  return true;
}

/// Observes the ops of a step, and stores the first one whose result is not finite.
class OpWatch {
 public:
  OpWatch(const tensor::KernelTable& inner, const nn::ParameterStore& parameters)
      : inner_(&inner), parameters_(&parameters), kernels_(inner) {
    const auto watch = [this](auto key) { this->watch(key); };
    ops::for_each_key(ops::kKernels, watch);
    ops::for_each_key(ops::kFusedKernels, watch);
    ops::for_each_key(ops::kRecomputingKernels, watch);
    ops::for_each_key(ops::kStepKernels, watch);
    current_ = this;
  }
  OpWatch(const OpWatch&) = delete;
  OpWatch& operator=(const OpWatch&) = delete;
  ~OpWatch() { current_ = nullptr; }

  const tensor::KernelTable& kernels() const noexcept { return kernels_; }
  /// Returns the op that was found; empty if none.
  const std::string& found() const noexcept { return found_; }

 private:
  template <class Result, class... Args>
  void watch(tensor::KernelKey<Result(Args...)> /*key*/) {}
  template <class Arguments>
  requires requires(const Arguments& arguments) { tensors_of(arguments); }
  void watch(tensor::KernelKey<void(Context&, const Arguments&)> key) {
    if (inner_->find(key) == nullptr) return;
    name_of_op_<Arguments> = key.name;
    kernels_.erase(key.name);
    kernels_.set(key, &run<Arguments>);
  }

  template <class Arguments>
  static void run(Context& context, const Arguments& arguments) {
    using Key = tensor::KernelKey<void(Context&, const Arguments&)>;
    OpWatch& watch = *current_;
    const OpTensors tensors = tensors_of(arguments);
    const bool finite_before = watch.found_.empty() && watch.all_finite(context, tensors.read);
    watch.inner_->get(Key{name_of_op_<Arguments>})(context, arguments);
    watch.look_at(context, name_of_op_<Arguments>, tensors, finite_before);
  }

  static bool all_finite(Context& context, const std::vector<Tensor>& tensors) {
    return std::ranges::all_of(tensors, [&](const Tensor& tensor) { return is_finite(context, tensor); });
  }

  void look_at(Context& context, std::string_view op, const OpTensors& tensors, bool finite_before) {
    ++ops_;
    for (const Tensor& tensor : tensors.read)
      for (const nn::Parameter& parameter : parameters_->all())
        if (parameter.value.data == tensor.data) near_ = parameter.name;
    if (!found_.empty() || all_finite(context, tensors.written)) return;
    found_ = fmt::format("the first number that is not finite is a result of the op '{}', number {} of the passes", op,
                         ops_);
    if (!near_.empty()) found_ += fmt::format(", at or behind the parameter {}", core::Quoted{near_});
    if (finite_before) found_ += ", from finite operands";
  }

  /// A kernel is a plain function, so it finds the watch of its thread's step here.
  static thread_local OpWatch* current_;
  template <class Arguments>
  static inline std::string_view name_of_op_;

  const tensor::KernelTable* inner_;
  const nn::ParameterStore* parameters_;
  tensor::KernelTable kernels_;
  std::int64_t ops_ = 0;
  std::string near_;
  std::string found_;
};

thread_local OpWatch* OpWatch::current_ = nullptr;

std::string name_of_first(const nn::ParameterStore& parameters, bool gradients) {
  for (const nn::Parameter& parameter : parameters.all()) {
    const Tensor& tensor = gradients ? parameter.gradient->value : parameter.value;
    const auto view = tensor::HostView::of(parameters.memory(), tensor);
    for (std::int64_t i = 0; i < tensor.rows; ++i)
      for (std::int64_t j = 0; j < tensor.cols; ++j)
        if (!std::isfinite(tensor::element(view.tensor(), i, j))) return parameter.name;
  }
  return {};
}

}  // namespace

std::string first_non_finite_parameter(const nn::ParameterStore& parameters) {
  const std::string name = name_of_first(parameters, false);
  return name.empty() ? "" : fmt::format("the first is in the parameter {}", core::Quoted{name});
}

std::string first_non_finite(const UpdateInputs& inputs, const TrainingState& state) {
  const nn::ParameterStore& parameters = inputs.model.parameters();
  if (const std::string name = name_of_first(parameters, false); !name.empty())
    return fmt::format("the parameter {} holds numbers that are not finite", core::Quoted{name});
  const Context& run = inputs.context;
  const OpWatch watch(inputs.kernels, parameters);
  Context context(watch.kernels(), run.device(), run.memory(), run.float_type(), run.executor());
  autograd::training_mode(context).set_compute_type(autograd::training_compute_type(run));
  // Each process computes all batches of the update.
  const std::unique_ptr<collective::Collective> alone = collective::make_single();
  GradientAccumulator again(inputs.recipe,
                            {.model = inputs.model, .adapters = nullptr, .aligned = inputs.aligned, .ranks = *alone},
                            inputs.batches, context);
  again.compute(state);
  if (!watch.found().empty()) return watch.found();
  if (const std::string gradient = name_of_first(parameters, true); !gradient.empty())
    return fmt::format("the first such gradient is that of {}", core::Quoted{gradient});
  return "each number of it is finite, and their sum is not";
}

}  // namespace dragoman::training
