#include "kernels.h"
#include "matrix.h"

#include <cmath>
#include <vector>

#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::CrossEntropyRowsArguments& arguments) {
  const Matrix logits(arguments.logits, "cross_entropy_rows");
  const Matrix losses(arguments.losses, "cross_entropy_rows");
  const Matrix nlls(arguments.nlls, "cross_entropy_rows");
  const double smoothing = arguments.label_smoothing;
  const auto vocabulary = static_cast<double>(logits.cols());
  std::vector<double> log_p(static_cast<std::size_t>(logits.cols()));
  for (std::int64_t r = 0; r < logits.rows(); ++r) {
    const std::int64_t target = arguments.targets[r];
    if (target == ops::kNoTarget) {
      nlls(0, r) = losses(0, r) = 0;
      if (!arguments.gradient_scale.empty())
        for (std::int64_t v = 0; v < logits.cols(); ++v) logits(r, v) = 0;
      continue;
    }
    for (std::int64_t v = 0; v < logits.cols(); ++v) log_p[static_cast<std::size_t>(v)] = logits(r, v);
    log_softmax_in_place(log_p);
    double mean_nll = 0;
    for (const double value : log_p) mean_nll -= value / vocabulary;
    nlls(0, r) = -log_p[static_cast<std::size_t>(target)];
    losses(0, r) = (1 - smoothing) * nlls(0, r) + smoothing * mean_nll;
    if (arguments.gradient_scale.empty()) continue;
    for (std::int64_t v = 0; v < logits.cols(); ++v) {
      const double wanted = smoothing / vocabulary + (v == target ? 1 - smoothing : 0);
      logits(r, v) = arguments.gradient_scale[0] * (std::exp(log_p[static_cast<std::size_t>(v)]) - wanted);
    }
  }
}

}  // namespace dragoman::backend::reference
