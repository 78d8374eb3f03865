#include "kernels.h"
#include "views.h"

#include <dragoman/ops/embedding.h>
#include <dragoman/ops/rows.h>

namespace dragoman::backend::cuda {
namespace {

device::View<unsigned char> bytes(const Tensor& tensor) {
  return {tensor.as<unsigned char>(), tensor.rows, tensor.cols, tensor.stride};
}

int element_bytes(const Tensor& x, const Tensor& y, std::string_view op) {
  core::require(x.dtype == y.dtype, core::ErrorCode::kUnsupported, "{}: {} and {} differ in their elements", op,
                tensor::describe(x), tensor::describe(y));
  return static_cast<int>(tensor::size_of(x.dtype));
}

}  // namespace

template <>
void kernel(Context&, const ops::GatherRowsArguments& arguments) {
  device::gather_rows(bytes(arguments.x), element_bytes(arguments.x, arguments.y, "gather_rows"), ids(arguments.rows),
                      bytes(arguments.y));
}

template <>
void kernel(Context&, const ops::ScatterRowsArguments& arguments) {
  constexpr std::string_view kOp = "scatter_rows";
  if (is_half(arguments.y.dtype) && arguments.x.dtype == tensor::DType::kF32)
    return device::scatter_rows_as(half_of(arguments.y.dtype), matrix(arguments.x, kOp), ids(arguments.rows),
                                   view_of<std::uint16_t>(arguments.y, arguments.y.dtype, kOp));
  device::scatter_rows(bytes(arguments.x), element_bytes(arguments.x, arguments.y, kOp), ids(arguments.rows),
                       bytes(arguments.y));
}

template <>
void kernel(Context&, const ops::RoundToArguments& arguments) {
  device::round_to(half_of(arguments.type), matrix(arguments.x, "round_to"));
}

template <>
void kernel(Context&, const ops::EmbeddingArguments& arguments) {
  constexpr std::string_view kOp = "embedding";
  device::embedding({.ids = ids(arguments.ids),
                     .table = matrix(arguments.table.values, kOp),
                     .scale = static_cast<float>(arguments.scale),
                     .positions = ids(arguments.positions),
                     .position_table = matrix(arguments.position_table, kOp),
                     .first_position = arguments.first_position,
                     .dropout = dropout(arguments.rate, arguments.random),
                     .y = matrix(arguments.y, kOp)});
}

template <>
void kernel(Context&, const ops::EmbeddingBackwardArguments& arguments) {
  constexpr std::string_view kOp = "embedding_backward";
  device::embedding_backward({.ids = ids(arguments.ids),
                              .first = arguments.first,
                              .dy = matrix(arguments.dy, kOp),
                              .scale = static_cast<float>(arguments.scale),
                              .dropout = dropout(arguments.rate, arguments.random),
                              .dtable = target(arguments.dtable, kOp)});
}

}  // namespace dragoman::backend::cuda
