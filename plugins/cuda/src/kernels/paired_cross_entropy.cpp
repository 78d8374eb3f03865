#include "kernels.h"
#include "views.h"

#include <dragoman/ops/paired_cross_entropy.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context&, const ops::PairedCrossEntropyRowsArguments& arguments) {
  constexpr std::string_view kOp = "paired_cross_entropy_rows";
  device::paired_cross_entropy_rows(
      {.first = matrix(arguments.first, kOp),
       .second = matrix(arguments.second, kOp),
       .targets = ids(arguments.targets),
       .label_smoothing = arguments.label_smoothing,
       .divergence_weight = arguments.divergence_weight,
       .gradient_scale = arguments.gradient_scale.empty() ? nullptr : arguments.gradient_scale.data,
       .losses = view_of<double>(arguments.losses, tensor::DType::kF64, kOp).data,
       .nlls = view_of<double>(arguments.nlls, tensor::DType::kF64, kOp).data});
}

}  // namespace dragoman::backend::cuda
