#include "op_harness.h"

#include "cuda_backend_for_tests.h"
#include "hidden_backend.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include <dragoman/core/random.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/slice.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::testing {
namespace {

constexpr std::uint64_t kSeed = 20240607;
constexpr std::uint64_t kWeightStreams = 1000;
constexpr std::size_t kPoisoned = std::size_t{1} << 22;

std::vector<Variable> make_operands(Rig& rig, const OpCase& op_case, bool with_gradients, int only_operand) {
  std::vector<Variable> operands;
  for (std::size_t i = 0; i < op_case.operands.size(); ++i) {
    const Operand& operand = op_case.operands[i];
    const bool wanted = with_gradients && (only_operand < 0 || only_operand == static_cast<int>(i));
    const auto values = random_values(operand.rows * operand.cols, i, operand.low, operand.high);
    operands.push_back(rig.variable(operand.rows, operand.cols, values, wanted));
  }
  return operands;
}

Variable weighted_output(Rig& rig, const Variable& output, std::uint64_t index) {
  const Tensor& y = output.value;
  const Tensor weights = rig.matrix(y.rows, y.cols, random_values(y.size(), kWeightStreams + index));
  return ops::weighted_sum(rig.context(), output, weights);
}

/// Runs the op `calls` times on the operands; returns the loss, and the outputs of the first call.
Variable build_loss(Rig& rig, const OpCase& op_case, std::span<const Variable> operands, int calls,
                    std::vector<Variable>* outputs) {
  Context& context = rig.context();
  autograd::training_mode(context).set_training(op_case.training);
  autograd::training_mode(context).set_random(kSeed, 3);
  Variable loss;
  std::uint64_t index = 0;
  for (int call = 0; call < calls; ++call) {
    const std::vector<Variable> results = op_case.run(context, operands);
    for (const Variable& output : results) {
      const Variable term = weighted_output(rig, output, index++);
      loss = loss.empty() ? term : ops::add(context, loss, term);
    }
    if (call == 0 && outputs != nullptr) *outputs = results;
  }
  return loss;
}

}  // namespace

const runtime::Runtime& test_runtime() {
  static const std::unique_ptr<const runtime::Runtime> runtime = [] {
    auto made = std::make_unique<runtime::Runtime>();
    made->add(std::make_shared<HiddenBackend>(made->kernels(Device::kCpu)));
    made->add(make_cuda_backend());
    return made;
  }();
  return *runtime;
}

std::vector<Device> all_devices() {
  // An emulated device takes longer than all others together, so its tests run beside theirs.
  const char* wanted = std::getenv("DRAGOMAN_TEST_DEVICES");
  const std::string_view which = wanted == nullptr ? "all" : wanted;
  std::vector<Device> devices;
  for (const Device device : test_runtime().devices()) {
    const bool cuda = device.backend() == "cuda";
    const bool skipped = cuda ? which == "host" : which == "cuda" && device != Device::kReference;
    if (device.number() == 0 && !skipped) devices.push_back(device);
  }
  return devices;
}

std::vector<Device> devices_that_train_in(tensor::ComputeChoice choice) {
  std::vector<Device> devices = all_devices();
  std::erase_if(devices, [&](Device device) {
    try {
      static_cast<void>(test_runtime().training_type(device, choice));
      return false;
    } catch (const core::Error&) {
      return true;
    }
  });
  return devices;
}

Rig::Rig(const tensor::KernelTable& kernels, int threads)
    : executor_(core::make_executor(threads)),
      context_(kernels, test_runtime().memory(kernels.device()), test_runtime().float_type(kernels.device()),
               *executor_) {
  const tensor::ScratchScope scope(context_.arena());
  const std::vector<unsigned char> poison(kPoisoned, 0xFF);
  context_.memory().copy_in(context_.arena().allocate(kPoisoned), poison.data(), kPoisoned);
}

void Rig::backward(const Variable& loss) {
  const double one = 1;
  autograd::seed_gradient(context_, loss, matrix(1, 1, {&one, 1}));
  tape_.backward(context_);
}

Tensor Rig::matrix(std::int64_t rows, std::int64_t cols, std::span<const double> values) {
  const Tensor result = context_.allocate(rows, cols);
  const auto view = tensor::HostView::to_be_written(context_.memory(), result);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      tensor::set_element(view.tensor(), i, j, values[static_cast<std::size_t>(i * cols + j)]);
  view.store();
  return result;
}

Variable Rig::variable(std::int64_t rows, std::int64_t cols, std::span<const double> values, bool wants_gradient) {
  return autograd::make_variable(context_, matrix(rows, cols, values), wants_gradient);
}

std::vector<double> random_values(std::int64_t count, std::uint64_t stream, double low, double high) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double uniform = core::random_uniform(kSeed, stream, static_cast<std::uint64_t>(i));
    values.push_back(static_cast<float>(low + (high - low) * uniform));
  }
  return values;
}

std::vector<double> values_of(const Tensor& tensor) {
  const auto view = tensor::HostView::of(test_runtime().memory(tensor.device), tensor);
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.rows; ++i)
    for (std::int64_t j = 0; j < tensor.cols; ++j) values.push_back(tensor::element(view.tensor(), i, j));
  return values;
}

std::vector<double> gradient_of(const Variable& variable) {
  if (!variable.gradient->written) return std::vector<double>(static_cast<std::size_t>(variable.value.size()), 0.0);
  return values_of(variable.gradient->value);
}

void expect_close(std::span<const double> actual, std::span<const double> expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << ", element " << i;
}

Outcome run_case(Device device, const OpCase& op_case, const Usage& usage) {
  Rig rig(device, usage.threads);
  rig.record();
  const std::vector<Variable> operands = make_operands(rig, op_case, true, usage.only_operand);
  std::vector<Variable> outputs;
  const Variable loss = build_loss(rig, op_case, operands, usage.calls, &outputs);
  Outcome outcome;
  outcome.loss = values_of(loss.value)[0];
  for (const Variable& output : outputs) outcome.outputs.push_back(values_of(output.value));
  if (loss.needs_gradient()) rig.backward(loss);
  for (const Variable& operand : operands)
    outcome.gradients.push_back(operand.needs_gradient() ? gradient_of(operand) : std::vector<double>{});
  return outcome;
}

OpCase with_strided_operands(const OpCase& op_case) {
  OpCase strided = op_case;
  for (Operand& operand : strided.operands) operand = {operand.rows + 2, operand.cols + 3, operand.low, operand.high};
  strided.run = [inner = op_case](Context& context, std::span<const Variable> wide) {
    std::vector<Variable> blocks;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const Operand& operand = inner.operands[i];
      blocks.push_back(ops::slice(context, wide[i], 1, 1 + operand.rows, 2, 2 + operand.cols));
    }
    return inner.run(context, blocks);
  };
  return strided;
}

std::vector<OpCase> small(std::vector<OpCase> cases) {
  std::erase_if(cases, [](const OpCase& op_case) { return !op_case.finite_differences; });
  return cases;
}

void expect_equivalent(const OpCase& fused, const OpCase& composite) {
  for (const Device device : all_devices()) {
    const double tolerance = device == Device::kReference ? 1e-11 : fused.tolerance;
    const Outcome one = run_case(device, fused);
    const Outcome other = run_case(device, composite);
    const std::string where = fused.name + " on " + name_of(device);
    ASSERT_EQ(one.outputs.size(), other.outputs.size());
    for (std::size_t i = 0; i < one.outputs.size(); ++i)
      expect_close(one.outputs[i], other.outputs[i], tolerance, where + ": output " + std::to_string(i));
    for (std::size_t i = 0; i < one.gradients.size(); ++i)
      expect_close(one.gradients[i], other.gradients[i], tolerance,
                   where + ": gradient of operand " + std::to_string(i));
  }
}

namespace {

/// d(loss)/d(each element of one operand) by central differences on the reference backend.
std::vector<double> finite_differences(const OpCase& op_case, std::size_t which, int calls) {
  // The error of a central difference is O(step^2) plus rounding / step: about 1e-10 here.
  constexpr double kStep = 1e-5;
  Rig rig(Device::kReference);
  const std::vector<Variable> operands = make_operands(rig, op_case, false, -1);
  const Tensor& x = operands[which].value;
  const auto loss_at = [&](std::int64_t i, std::int64_t j, double value) {
    const tensor::ScratchScope scope(rig.context().arena());
    tensor::set_element(x, i, j, value);
    return tensor::element(build_loss(rig, op_case, operands, calls, nullptr).value, 0, 0);
  };
  std::vector<double> gradient;
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const double value = tensor::element(x, i, j);
      const double difference = loss_at(i, j, value + kStep) - loss_at(i, j, value - kStep);
      tensor::set_element(x, i, j, value);
      gradient.push_back(difference / (2 * kStep));
    }
  return gradient;
}

void expect_true_gradients(const OpCase& op_case, int calls) {
  const Outcome outcome = run_case(Device::kReference, op_case, {.calls = calls});
  for (std::size_t i = 0; i < op_case.operands.size(); ++i)
    expect_close(outcome.gradients[i], finite_differences(op_case, i, calls), 1e-7,
                 "gradient of operand " + std::to_string(i) + " with " + std::to_string(calls) + " calls");
}

void expect_each_device_matches_reference(const OpCase& op_case, const Usage& usage) {
  const Outcome expected = run_case(Device::kReference, op_case, usage);
  for (const Device device : all_devices()) {
    if (device == Device::kReference) continue;
    const Outcome actual = run_case(device, op_case, usage);
    const std::string where = " on " + name_of(device);
    ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
    for (std::size_t i = 0; i < actual.outputs.size(); ++i)
      expect_close(actual.outputs[i], expected.outputs[i], op_case.tolerance, "output " + std::to_string(i) + where);
    for (std::size_t i = 0; i < actual.gradients.size(); ++i)
      expect_close(actual.gradients[i], expected.gradients[i], op_case.tolerance,
                   "gradient of operand " + std::to_string(i) + where);
  }
}

}  // namespace

TEST_P(OpGradientTest, GradientsMatchFiniteDifferences) {
  expect_true_gradients(GetParam(), 1);
}

TEST_P(OpGradientTest, GradientsOfTwoUsesAccumulate) {
  expect_true_gradients(GetParam(), 2);
}

TEST_P(OpGradientTest, StridedOperandsGiveTrueGradients) {
  expect_true_gradients(with_strided_operands(GetParam()), 1);
}

TEST_P(OpTest, EachDeviceMatchesReference) {
  expect_each_device_matches_reference(GetParam(), {});
}

TEST_P(OpTest, EachDeviceAccumulatesLikeReference) {
  expect_each_device_matches_reference(GetParam(), {.calls = 2});
}

TEST_P(OpTest, EachDeviceMatchesReferenceOnStridedOperands) {
  expect_each_device_matches_reference(with_strided_operands(GetParam()), {});
}

TEST_P(OpTest, HiddenMemoryGivesTheBitsOfTheCpu) {
  for (const OpCase& op_case : {GetParam(), with_strided_operands(GetParam())}) {
    const Outcome cpu = run_case(Device::kCpu, op_case);
    const Outcome hidden = run_case(Device::of("hidden"), op_case);
    EXPECT_EQ(hidden.loss, cpu.loss);
    EXPECT_EQ(hidden.outputs, cpu.outputs);
    EXPECT_EQ(hidden.gradients, cpu.gradients);
  }
}

TEST_P(OpTest, EachOperandsGradientCanBeAskedForAlone) {
  for (const Device device : all_devices()) {
    const Outcome all = run_case(device, GetParam());
    for (std::size_t i = 0; i < GetParam().operands.size(); ++i) {
      const Outcome alone = run_case(device, GetParam(), {.only_operand = static_cast<int>(i)});
      EXPECT_EQ(alone.outputs, all.outputs);
      EXPECT_EQ(alone.gradients[i], all.gradients[i]) << "operand " << i << " on " << name_of(device);
    }
  }
}

TEST_P(OpTest, BitsDoNotDependOnTheNumberOfThreads) {
  const Outcome one = run_case(Device::kCpu, GetParam(), {.threads = 1});
  for (const int threads : {2, 3}) {
    const Outcome many = run_case(Device::kCpu, GetParam(), {.threads = threads});
    EXPECT_EQ(many.outputs, one.outputs) << threads << " threads";
    EXPECT_EQ(many.gradients, one.gradients) << threads << " threads";
  }
}

}  // namespace dragoman::testing
