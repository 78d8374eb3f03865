#include "checks.h"

#include <cmath>

#include <dragoman/nn/whole_state.h>

namespace dragoman::plugins {
namespace {

/// The alignments of one pair's target tokens: one row of source length for each.
struct Alignments {
  Matrix whole;
  Matrix steps;
};

void append(Matrix& matrix, const std::vector<float>& row) {
  matrix.cols = static_cast<std::int64_t>(row.size());
  ++matrix.rows;
  matrix.values.insert(matrix.values.end(), row.begin(), row.end());
}

Matrix whole_alignment(Subject& subject, const Pair& pair) {
  tensor::Context& context = subject.context();
  const Ragged source({pair.source});
  const Ragged target({pair.target});
  Matrix result;
  context.step([&] {
    const nn::Encoding encoding = subject.model().encode(context, source.view());
    const std::vector<nn::KeyValue> memories = subject.model().memories(context, encoding);
    nn::WholeState state(memories, context.indices(source.offsets));
    state.request_alignment(subject.model().alignment_heads());
    subject.model().decode(context, target.view(), state);
    for (std::size_t t = 0; t < pair.target.size(); ++t) append(result, state.alignment(static_cast<std::int64_t>(t)));
  });
  return result;
}

Matrix stepwise_alignment(Subject& subject, const Pair& pair) {
  Stepper stepper(subject);
  stepper.state().request_alignment(subject.model().alignment_heads());
  const std::int32_t slot = stepper.admit(pair.source);
  Matrix result;
  for (std::size_t t = 0; t < pair.target.size(); ++t) {
    stepper.step({{slot, t == 0 ? -1 : 0}}, {{pair.target[t]}});
    append(result, stepper.state().alignment(0));
  }
  return result;
}

double worst_sum(const Matrix& weights) {
  double worst = 0;
  for (std::int64_t t = 0; t < weights.rows; ++t) {
    double sum = 0;
    for (std::int64_t j = 0; j < weights.cols; ++j) sum += weights.at(t, j);
    worst = std::max(worst, std::abs(sum - 1));
  }
  return worst;
}

}  // namespace

Finding check_alignment(const Bench& bench) {
  Subject subject = bench.subject();
  if (subject.model().alignment_heads().memory.index < 0) return {true, "the model offers no alignment"};
  Distance found;
  double sum_error = 0;
  for (const Pair& pair : example_pairs()) {
    const Matrix whole = whole_alignment(subject, pair);
    found = larger(found, distance(stepwise_alignment(subject, pair), whole));
    sum_error = std::max(sum_error, worst_sum(whole));
  }
  found = larger(found, {sum_error, 0});
  // Alignment weights are returned in single precision on every device.
  return judge(
      found, tolerance_of(tensor::DType::kF32),
      "alignment weights sum to 1 and are those of the whole pass in steps, too",
      "alignment_heads() names a memory that is not attended to, or that is attended to in only one of the modes");
}

}  // namespace dragoman::plugins
