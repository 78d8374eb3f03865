#include "access.h"

#include <cmath>

namespace dragoman::backend::cuda::device {
namespace {

/// One block for each pair of rows.
struct PairedLoss {
  PairedCrossEntropyRows arguments;

  SIMT_DEVICE void operator()() const {
    const Matrix& first = arguments.first;
    const Matrix& second = arguments.second;
    simt::SharedMemory memory;
    const auto maxima = memory.take<float>(kWarps);
    const auto sums = memory.take<double>(kWarps);
    const std::int64_t row = simt::block_index();
    const std::int32_t target = arguments.targets.data[row];
    const bool gradient = arguments.gradient_scale != nullptr;
    if (target < 0) {  // does not count
      if (simt::thread_index() == 0) arguments.losses[row] = arguments.nlls[row] = 0;
      if (gradient)
        for (std::int64_t v = simt::thread_index(); v < first.cols; v += kThreads)
          at(first, row, v) = at(second, row, v) = 0;
      return;
    }
    const float shift_p = maximum_of(first, row, maxima);
    const float shift_q = maximum_of(second, row, maxima);
    double exponentials_p = 0;
    double exponentials_q = 0;
    double shifted = 0;
    for (std::int64_t v = simt::thread_index(); v < first.cols; v += kThreads) {
      exponentials_p += expf(at(first, row, v) - shift_p);
      exponentials_q += expf(at(second, row, v) - shift_q);
      shifted += (at(first, row, v) - shift_p) + (at(second, row, v) - shift_q);
    }
    const double log_sum_p = log(reduce_block(exponentials_p, Sum(), sums));
    const double log_sum_q = log(reduce_block(exponentials_q, Sum(), sums));
    shifted = reduce_block(shifted, Sum(), sums);
    const float base_p = shift_p + static_cast<float>(log_sum_p);
    const float base_q = shift_q + static_cast<float>(log_sum_q);
    double own_pq = 0;
    double own_qp = 0;
    for (std::int64_t v = simt::thread_index(); v < first.cols; v += kThreads) {
      const float log_p = at(first, row, v) - base_p;
      const float log_q = at(second, row, v) - base_q;
      own_pq += expf(log_p) * (log_p - log_q);
      own_qp += expf(log_q) * (log_q - log_p);
    }
    const double pq = reduce_block(own_pq, Sum(), sums);
    const double qp = reduce_block(own_qp, Sum(), sums);
    const auto vocabulary = static_cast<double>(first.cols);
    const double smoothing = arguments.label_smoothing;
    if (simt::thread_index() == 0) {
      const double nll =
          (log_sum_p - (at(first, row, target) - shift_p) + log_sum_q - (at(second, row, target) - shift_q)) / 2;
      const double mean_nll = (log_sum_p + log_sum_q - shifted / vocabulary) / 2;
      arguments.nlls[row] = nll;
      arguments.losses[row] =
          (1 - smoothing) * nll + smoothing * mean_nll + arguments.divergence_weight / 4 * (pq + qp);
    }
    if (!gradient) return;
    simt::barrier();  // the logits are overwritten below
    const auto half = static_cast<float>(*arguments.gradient_scale / 2);
    const auto weight = static_cast<float>(*arguments.gradient_scale * arguments.divergence_weight / 4);
    const auto everywhere = static_cast<float>(smoothing / vocabulary);
    for (std::int64_t v = simt::thread_index(); v < first.cols; v += kThreads) {
      const float log_p = at(first, row, v) - base_p;
      const float log_q = at(second, row, v) - base_q;
      const float p = expf(log_p);
      const float q = expf(log_q);
      const float wanted = everywhere + (v == target ? static_cast<float>(1 - smoothing) : 0);
      at(first, row, v) = half * (p - wanted) + weight * (p * (log_p - log_q - static_cast<float>(pq)) + p - q);
      at(second, row, v) = half * (q - wanted) + weight * (q * (log_q - log_p - static_cast<float>(qp)) + q - p);
    }
  }

 private:
  static SIMT_DEVICE float maximum_of(const Matrix& logits, std::int64_t row, const Shared<float>& cells) {
    float maximum = -INFINITY;
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads)
      maximum = fmaxf(maximum, at(logits, row, v));
    return reduce_block(maximum, Maximum(), cells);
  }
};

}  // namespace

void paired_cross_entropy_rows(const PairedCrossEntropyRows& arguments) {
  for_each_row(arguments.first.rows, 2 * kWarps * sizeof(double), PairedLoss{arguments});
}

}  // namespace dragoman::backend::cuda::device
