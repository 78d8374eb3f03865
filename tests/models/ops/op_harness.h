#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/autograd/tape.h>
#include <dragoman/core/parallel.h>
#include <dragoman/ops/types.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/tensor/context.h>

// How every op is tested: the reference backend's gradients against finite differences, every other device's values and
// gradients against the reference's, and the bits for any number of threads.
namespace dragoman::testing {

using autograd::Variable;
using tensor::Context;
using tensor::Device;
using tensor::Tensor;

/// The backends of a runtime; the CPU's kernels once more in memory that the host cannot read, as that of a GPU
/// (hidden_backend.h); and those for CUDA (cuda_backend_for_tests.h).
const runtime::Runtime& test_runtime();
/// The first device of each backend, the reference among them. The environment's DRAGOMAN_TEST_DEVICES leaves out some:
/// `host` CUDA's, `cuda` all others but the reference.
std::vector<Device> all_devices();
/// Those of them that train in what is chosen.
std::vector<Device> devices_that_train_in(tensor::ComputeChoice choice);
/// For suites that run on each device.
inline const auto kAllDevices = ::testing::ValuesIn(all_devices());
inline std::string device_name(const ::testing::TestParamInfo<Device>& info) {
  return name_of(info.param);
}

/// A context on one device with all that it needs. Step memory is full of NaN, so that whatever reads before it writes
/// shows.
class Rig {
 public:
  explicit Rig(Device device, int threads = 1) : Rig(test_runtime().kernels(device), threads) {}
  /// With the kernels of a table that is in no runtime.
  explicit Rig(const tensor::KernelTable& kernels, int threads = 1);

  Context& context() { return context_; }
  autograd::Tape& tape() { return tape_; }
  void record() { autograd::training_mode(context_).set_tape(&tape_); }
  /// Seeds `loss` [1, 1] with 1 and runs the tape.
  void backward(const Variable& loss);

  /// A matrix of the context's float type in step memory.
  Tensor matrix(std::int64_t rows, std::int64_t cols, std::span<const double> values);
  Variable variable(std::int64_t rows, std::int64_t cols, std::span<const double> values, bool wants_gradient);
  Variable constant(std::int64_t rows, std::int64_t cols, std::span<const double> values) {
    return variable(rows, cols, values, false);
  }

 private:
  std::unique_ptr<core::Executor> executor_;
  Context context_;
  autograd::Tape tape_;
};

/// Numbers in [low, high) that a float holds exactly, so that all devices start from the same values.
std::vector<double> random_values(std::int64_t count, std::uint64_t stream, double low = -1, double high = 1);

/// All elements, row by row. An empty tensor has none.
std::vector<double> values_of(const Tensor& tensor);
/// The gradient of a variable; zeros if nothing was written.
std::vector<double> gradient_of(const Variable& variable);

/// Expects |actual - expected| <= tolerance * (1 + |expected|) for each element.
void expect_close(std::span<const double> actual, std::span<const double> expected, double tolerance,
                  const std::string& what);

struct Operand {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  double low = -1;
  double high = 1;
};

/// An op on operands of certain shapes. `run` must be a pure function of its operands and of the context's random
/// state.
struct OpCase {
  std::string name;
  std::vector<Operand> operands;
  std::function<std::vector<Variable>(Context&, std::span<const Variable>)> run;
  bool training = false;
  /// Of single precision against the reference; larger for long sums.
  double tolerance = 2e-5;
  /// False for shapes too large to be differentiated element by element; they are there for threads and blocks.
  bool finite_differences = true;
};

inline void PrintTo(const OpCase& op_case, std::ostream* out) {
  *out << op_case.name;
}

struct Outcome {
  double loss = 0;
  std::vector<std::vector<double>> outputs;
  std::vector<std::vector<double>> gradients;  ///< per operand; empty if not asked for
};

/// How run_case uses the op.
struct Usage {
  int threads = 1;
  /// Calls of the op on the same operands within one graph; with 2, gradients must accumulate.
  int calls = 1;
  /// The only operand that wants a gradient, or -1 for all of them.
  int only_operand = -1;
};

/// The loss is the sum of all outputs' elements, each times a fixed random weight.
Outcome run_case(Device device, const OpCase& op_case, const Usage& usage = {});

/// The same op on operands that are blocks of larger matrices, so that their rows do not lie end to end.
OpCase with_strided_operands(const OpCase& op_case);

/// Expects equal outputs and gradients of both cases, which must have the same operands: to rounding error, on
/// every device.
void expect_equivalent(const OpCase& fused, const OpCase& composite);

/// The cases with finite_differences.
std::vector<OpCase> small(std::vector<OpCase> cases);

/// Every other device against the reference. Instantiate with a list of cases; op_harness.cpp says what is checked.
class OpTest : public ::testing::TestWithParam<OpCase> {};
/// The reference backend's gradients against finite differences. Instantiate with the small cases.
class OpGradientTest : public ::testing::TestWithParam<OpCase> {};

inline std::string case_name(const ::testing::TestParamInfo<OpCase>& info) {
  return info.param.name;
}

}  // namespace dragoman::testing
