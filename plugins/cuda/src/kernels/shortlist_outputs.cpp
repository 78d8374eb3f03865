#include "shortlist_outputs.h"

#include "gemm/gemm.h"
#include "kernels.h"
#include "views.h"

#include <algorithm>

namespace dragoman::backend::cuda {

ShortlistOutputs::ShortlistOutputs(tensor::DeviceMemory& memory, const PackedMatrix& weight, std::int64_t columns)
    : rows_(memory, columns, weight.cols(), weight.type()),
      bias_(memory, static_cast<std::size_t>(columns) * sizeof(float)) {
  memory.clear(bias_.data(), static_cast<std::size_t>(columns) * sizeof(float));
}

void ShortlistOutputs::gather(const PackedMatrix& weight, const device::Matrix& bias,
                              const ops::DeviceArray<ops::ShortlistSource>& columns) {
  device::ShortlistRows rows = rows_.gathered_from(weight);
  rows.columns = columns.data;
  rows.from_bias = bias.data;
  rows.to_bias = static_cast<float*>(bias_.data());
  device::gather_rows_of_words(rows, columns.size());
}

void ShortlistOutputs::multiply(Context& context, const device::Matrix& x, const device::Matrix& y) const {
  auto* const bias = static_cast<float*>(bias_.data());
  rows_.multiply(context, x, y, {.bias = {bias, 1, y.cols, y.cols}});
}

const ShortlistOutputs& shortlist_of(const ops::ShortlistOutputs& outputs) {
  const auto* gathered = dynamic_cast<const ShortlistOutputs*>(&outputs);
  core::require(gathered != nullptr, core::ErrorCode::kInvalidArgument,
                "the gathered outputs were made by another backend; make them on the device that multiplies with them");
  return *gathered;
}

std::unique_ptr<ops::ShortlistOutputs> kernel(Context& context, const PackedWeight& weight, std::int64_t columns) {
  // Whether outputs are gathered depends on which sentences share a batch, so it may not show in their bits.
  if (!tensor::is_int8(weight.type()) && !gemm_of(context.device()).is_column_stable()) return nullptr;
  return std::make_unique<ShortlistOutputs>(context.memory(), packed_of(weight, "make_shortlist_outputs"),
                                            std::max<std::int64_t>(columns, 1));
}

template <>
void kernel(Context&, const ops::GatherOutputsArguments& arguments) {
  constexpr std::string_view kOp = "gather_outputs";
  static_cast<void>(shortlist_of(*arguments.outputs));
  static_cast<ShortlistOutputs&>(*arguments.outputs)
      .gather(packed_of(*arguments.weight, kOp), matrix(arguments.bias, kOp), arguments.columns);
}

}  // namespace dragoman::backend::cuda
