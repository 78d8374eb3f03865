#include "kernels.h"
#include "matrix.h"

#include <cmath>
#include <vector>

#include <dragoman/ops/paired_cross_entropy.h>

namespace dragoman::backend::reference {
namespace {

std::vector<double> log_softmax_of(const Matrix& logits, std::int64_t row) {
  std::vector<double> log_p(static_cast<std::size_t>(logits.cols()));
  for (std::int64_t v = 0; v < logits.cols(); ++v) log_p[static_cast<std::size_t>(v)] = logits(row, v);
  log_softmax_in_place(log_p);
  return log_p;
}

/// KL(p || q) of two rows of log probabilities.
double divergence(const std::vector<double>& log_p, const std::vector<double>& log_q) {
  double sum = 0;
  for (std::size_t v = 0; v < log_p.size(); ++v) sum += std::exp(log_p[v]) * (log_p[v] - log_q[v]);
  return sum;
}

/// d(loss)/d(logits) of the row with log probabilities `own`.
double slope(double own, double other, double own_divergence, double wanted, double weight) {
  const double p = std::exp(own), q = std::exp(other);
  return 0.5 * (p - wanted) + 0.25 * weight * (p * (own - other - own_divergence) + p - q);
}

}  // namespace

template <>
void kernel(Context&, const ops::PairedCrossEntropyRowsArguments& arguments) {
  constexpr std::string_view kOp = "paired_cross_entropy_rows";
  const Matrix first(arguments.first, kOp), second(arguments.second, kOp);
  const Matrix losses(arguments.losses, kOp), nlls(arguments.nlls, kOp);
  const double smoothing = arguments.label_smoothing, weight = arguments.divergence_weight;
  const auto vocabulary = static_cast<double>(first.cols());
  for (std::int64_t r = 0; r < first.rows(); ++r) {
    const std::int64_t target = arguments.targets[r];
    if (target == ops::kNoTarget) {
      nlls(0, r) = losses(0, r) = 0;
      if (arguments.gradient_scale.empty()) continue;
      for (std::int64_t v = 0; v < first.cols(); ++v) first(r, v) = second(r, v) = 0;
      continue;
    }
    const std::vector<double> p = log_softmax_of(first, r), q = log_softmax_of(second, r);
    const auto at = static_cast<std::size_t>(target);
    const double pq = divergence(p, q), qp = divergence(q, p);
    double mean_nll = 0;
    for (std::size_t v = 0; v < p.size(); ++v) mean_nll -= (p[v] + q[v]) / 2 / vocabulary;
    nlls(0, r) = -(p[at] + q[at]) / 2;
    losses(0, r) = (1 - smoothing) * nlls(0, r) + smoothing * mean_nll + weight / 4 * (pq + qp);
    if (arguments.gradient_scale.empty()) continue;
    const double scale = arguments.gradient_scale[0];
    for (std::size_t v = 0; v < p.size(); ++v) {
      const double wanted = smoothing / vocabulary + (v == at ? 1 - smoothing : 0);
      first(r, static_cast<std::int64_t>(v)) = scale * slope(p[v], q[v], pq, wanted, weight);
      second(r, static_cast<std::int64_t>(v)) = scale * slope(q[v], p[v], qp, wanted, weight);
    }
  }
}

}  // namespace dragoman::backend::reference
