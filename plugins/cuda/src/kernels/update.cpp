#include "kernels.h"
#include "views.h"

#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/update.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context&, const ops::SumLossesArguments& arguments) {
  const auto doubles = [](const Tensor& row) { return view_of<double>(row, tensor::DType::kF64, "sum_losses").data; };
  device::sum_losses({.losses = doubles(arguments.losses),
                      .nlls = doubles(arguments.nlls),
                      .rows = arguments.losses.size(),
                      .alignment_losses = doubles(arguments.alignment_losses),
                      .aligned_rows = arguments.alignment_losses.size(),
                      .alignment_weight = arguments.alignment_weight,
                      .passes = arguments.passes,
                      .record = arguments.record});
}

template <>
void kernel(Context&, const ops::PrepareUpdateArguments& arguments) {
  const auto number = [](const Tensor& sum) {
    return view_of<double>(sum, tensor::DType::kF64, "prepare_update").data;
  };
  device::prepare_update({.plan = arguments.plan.data,
                          .losses = arguments.losses.data,
                          .batches = arguments.losses.size(),
                          .sum_of_squares = number(arguments.sum_of_squares),
                          .clipped_sum_of_squares = number(arguments.clipped_sum_of_squares),
                          .record = arguments.record});
}

}  // namespace dragoman::backend::cuda
