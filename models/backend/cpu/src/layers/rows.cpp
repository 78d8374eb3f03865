#include "products/blocks.h"
#include "kernels.h"
#include "simd/rounding.h"

#include <cstring>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/ops/rows.h>

namespace dragoman::backend::cpu {
namespace {

char* row_of(const Tensor& tensor, std::int64_t row) {
  return static_cast<char*>(tensor.data) +
         static_cast<std::size_t>(row * tensor.stride) * tensor::size_of(tensor.dtype);
}

/// The size of a row in bytes.
std::size_t width_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.cols) * tensor::size_of(tensor.dtype);
}

void require_bf16(tensor::DType dtype, std::string_view op) {
  core::require(dtype == tensor::DType::kBF16, core::ErrorCode::kUnsupported,
                "{}: the cpu backend rounds to BF16, and not to {}", op, tensor::name_of(dtype));
}

void scatter_as_bf16(Context& context, const ops::ScatterRowsArguments& arguments) {
  const Tensor& x = arguments.x;
  require_bf16(arguments.y.dtype, "scatter_rows");
  core::for_each_range(context.executor(), x.rows, rows_per_block(x.cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      round_to_bf16({x.row<float>(i), x.stride, 1, x.cols}, arguments.y.row<std::uint16_t>(arguments.rows[i]));
  });
}

}  // namespace

template <>
void kernel(Context& context, const ops::GatherRowsArguments& arguments) {
  const std::size_t width = width_of(arguments.y);
  core::for_each_range(context.executor(), arguments.rows.size(), rows_per_block(arguments.y.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) {
                           const std::int32_t row = arguments.rows[i];
                           if (row < 0)
                             std::memset(row_of(arguments.y, i), 0, width);
                           else
                             std::memcpy(row_of(arguments.y, i), row_of(arguments.x, row), width);
                         }
                       });
}

template <>
void kernel(Context& context, const ops::RoundToArguments& arguments) {
  const Tensor& x = arguments.x;
  require_bf16(arguments.type, "round_to");
  core::for_each_range(context.executor(), x.rows, rows_per_block(x.cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      round_through_bf16({x.row<float>(i), x.stride, 1, x.cols}, x.row<float>(i));
  });
}

template <>
void kernel(Context& context, const ops::ScatterRowsArguments& arguments) {
  if (arguments.x.dtype != arguments.y.dtype) return scatter_as_bf16(context, arguments);
  const std::size_t width = width_of(arguments.x);
  core::for_each_range(context.executor(), arguments.rows.size(), rows_per_block(arguments.x.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i)
                           std::memcpy(row_of(arguments.y, arguments.rows[i]), row_of(arguments.x, i), width);
                       });
}

}  // namespace dragoman::backend::cpu
