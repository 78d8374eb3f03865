#include "dragoman/ops/rows.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {

Tensor gather_rows(Context& context, const Tensor& x, const DeviceIndices& rows) {
  const Tensor y = context.arena().allocate(rows.size(), x.cols, x.dtype, context.device());
  context.kernels().get(kGatherRows)(context, {x, rows, y});
  return y;
}

void scatter_rows(Context& context, const Tensor& x, const DeviceIndices& rows, const Tensor& y) {
  const bool narrow = y.dtype == tensor::DType::kBF16 || y.dtype == tensor::DType::kF16;
  const bool rounds = narrow && x.dtype == context.float_type();
  if (x.rows != rows.size() || x.cols != y.cols || (x.dtype != y.dtype && !rounds))
    core::fail(core::ErrorCode::kInvalidArgument, "scatter_rows: {} rows of {} do not go from {} to {}", rows.size(),
               tensor::name_of(x.dtype), tensor::describe(x), tensor::describe(y));
  context.kernels().get(kScatterRows)(context, {x, rows, y});
}

void round_to(Context& context, const Tensor& x, tensor::DType type) {
  context.kernels().get(kRoundTo)(context, {x, type});
}

}  // namespace dragoman::ops
