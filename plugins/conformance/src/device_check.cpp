#include "checks.h"

#include <cmath>

namespace dragoman::plugins {
namespace {

/// For gradients in single precision: each is a sum over all tokens of products with many factors.
constexpr double kGradientTolerance = 5e-4;

struct Outcome {
  Matrix states;
  Matrix stepwise;
  double loss = 0;
  Matrix gradients;
};

Outcome run(const Bench& bench, tensor::Device device) {
  const std::vector<Pair> pairs = example_pairs();
  Subject subject = Bench{bench.entry, bench.runtime, device, {}}.subject();
  Outcome outcome{decode_whole(subject, pairs), decode_stepwise(subject, pairs), 0, {}};
  nn::ParameterStore& store = subject.model().parameters();
  store.attach_gradients(subject.memory());
  outcome.loss = loss(subject, pairs, true);
  store.finish_gradients();
  outcome.gradients = read(subject.context(), store.flat_gradients());
  return outcome;
}

}  // namespace

Finding check_device(const Bench& bench) {
  const Outcome reference = run(bench, tensor::Device::kReference);
  const Outcome other = run(bench, bench.device);
  const Distance states =
      larger(distance(other.states, reference.states), distance(other.stepwise, reference.stepwise));
  const Distance gradients = distance(other.gradients, reference.gradients);
  const double loss_error = std::abs(other.loss - reference.loss) / (1 + std::abs(reference.loss));
  const bool passed = states.value <= tolerance_of(tensor::DType::kF32) &&
                      loss_error <= tolerance_of(tensor::DType::kF32) && gradients.value <= kGradientTolerance;
  const std::string numbers = fmt::format("against the reference backend: states {:.3g}, loss {:.3g}, gradients {:.3g}",
                                          states.value, loss_error, gradients.value);
  return {passed, passed ? numbers : numbers + "; a kernel of this device computes something else"};
}

}  // namespace dragoman::plugins
