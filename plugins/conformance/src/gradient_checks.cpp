#include "checks.h"

#include <cmath>
#include <optional>

#include <dragoman/core/random.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::plugins {
namespace {

/// The parameters of central differences in double precision. The error of the method falls with the square of the
/// step, and the rounding error grows with its inverse. With this step, both are below 1e-8 for a loss of about 30.
constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;
/// The number of elements that are drawn at random from a larger parameter.
constexpr std::int64_t kElements = 32;

std::int64_t element_to_check(const nn::Parameter& parameter, std::int64_t i, std::uint64_t stream) {
  const std::int64_t size = parameter.rows * parameter.cols;
  if (size <= kElements) return i;
  return static_cast<std::int64_t>(
      core::random_below(static_cast<std::uint64_t>(size), 7, stream, static_cast<std::uint64_t>(i)));
}

double numeric_gradient(Subject& subject, const std::vector<Pair>& pairs, const nn::Parameter& parameter,
                        std::int64_t row, std::int64_t col) {
  const auto view = tensor::HostView::of(subject.memory(), parameter.value);
  const auto set = [&](double value) {
    tensor::set_element(view.tensor(), row, col, value);
    view.store();
  };
  const double value = tensor::element(view.tensor(), row, col);
  set(value + kStep);
  const double above = loss(subject, pairs, false);
  set(value - kStep);
  const double below = loss(subject, pairs, false);
  set(value);
  return (above - below) / (2 * kStep);
}

struct WorstGradient {
  double error = 0;
  double analytic = 0;
  double numeric = 0;
  std::string place = "nowhere";
  int checked = 0;
};

void check_parameter(Subject& subject, const std::vector<Pair>& pairs, const nn::Parameter& parameter,
                     std::uint64_t stream, WorstGradient& worst) {
  const std::int64_t count = std::min(parameter.rows * parameter.cols, kElements);
  std::optional<tensor::HostView> gradient;
  if (parameter.gradient->written) gradient = tensor::HostView::of(subject.memory(), parameter.gradient->value);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t element = element_to_check(parameter, i, stream);
    const std::int64_t row = element / parameter.cols;
    const std::int64_t col = element % parameter.cols;
    const double analytic = gradient ? tensor::element(gradient->tensor(), row, col) : 0;
    const double numeric = numeric_gradient(subject, pairs, parameter, row, col);
    const double error = std::abs(analytic - numeric) / (1 + std::abs(numeric));
    ++worst.checked;
    if (error > worst.error || std::isnan(error)) {
      const int checked = worst.checked;
      worst = {error, analytic, numeric, fmt::format("{}[{}, {}]", parameter.name, row, col), checked};
    }
  }
}

}  // namespace

Finding check_finite_differences(const Bench& bench) {
  Subject subject = bench.subject();
  const std::vector<Pair> pairs = example_pairs();
  nn::ParameterStore& store = subject.model().parameters();
  store.attach_gradients(subject.memory());
  loss(subject, pairs, true);
  WorstGradient worst;
  std::uint64_t stream = 0;
  for (const nn::Parameter& parameter : store.all()) check_parameter(subject, pairs, parameter, ++stream, worst);
  const std::string numbers =
      fmt::format("{} elements of {} parameters; the worst is {}: backward pass {:.9g}, central difference {:.9g}",
                  worst.checked, store.all().size(), worst.place, worst.analytic, worst.numeric);
  if (worst.error <= kTolerance) return {true, numbers};
  return {false, numbers + "; an op's backward function is wrong, or the loss depends on whether a tape is set"};
}

Finding check_every_parameter(const Bench& bench) {
  Subject subject = bench.subject();
  nn::ParameterStore& store = subject.model().parameters();
  store.attach_gradients(subject.memory());
  loss(subject, example_pairs(), true);
  std::string left_out;
  for (const nn::Parameter& parameter : store.all())
    if (!parameter.gradient->written) left_out += (left_out.empty() ? "" : ", ") + parameter.name;
  if (left_out.empty())
    return {true,
            fmt::format("the backward pass reaches all {} parameters ({} values)", store.all().size(), store.count())};
  return {false,
          fmt::format("no gradient reaches {}: it is not used, or its value was taken out of the graph", left_out)};
}

}  // namespace dragoman::plugins
