#include "kernels.h"
#include "views.h"

#include <dragoman/ops/alignment_loss.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context& context, const ops::AlignmentLossRowsArguments& arguments) {
  constexpr std::string_view kOp = "alignment_loss_rows";
  const tensor::ScratchScope scope(context.arena());
  const auto sequences = static_cast<std::size_t>(arguments.q_offsets.size());
  device::alignment_loss_rows(
      {.weights = matrix(arguments.weights, kOp).data,
       .weight_offsets = static_cast<std::int64_t*>(context.arena().allocate(sequences * sizeof(std::int64_t))),
       .q_offsets = ids(arguments.q_offsets),
       .k_offsets = ids(arguments.k_offsets),
       .heads = arguments.heads,
       .guided_heads = arguments.guided_heads,
       .link_offsets = arguments.link_offsets.data,
       .links = arguments.links.data,
       .cost = arguments.cost,
       .gradient_scale = arguments.gradient_scale.empty() ? nullptr : arguments.gradient_scale.data,
       .losses = view_of<double>(arguments.losses, tensor::DType::kF64, kOp).data,
       .gradient = matrix(arguments.gradient, kOp).data});
}

}  // namespace dragoman::backend::cuda
