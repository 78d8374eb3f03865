#include "dragoman/ops/rows.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {

Tensor gather_rows(Context& context, const Tensor& x, const DeviceIndices& rows) {
  const Tensor y = context.arena().allocate(rows.size(), x.cols, x.dtype, context.device());
  context.kernels().get(kGatherRows)(context, {x, rows, y});
  return y;
}

void scatter_rows(Context& context, const Tensor& x, const DeviceIndices& rows, const Tensor& y) {
  if (x.rows != rows.size() || x.cols != y.cols || x.dtype != y.dtype)
    core::fail(core::ErrorCode::kInvalidArgument, "scatter_rows: {} rows of {} do not go from {} to {}", rows.size(),
               tensor::name_of(x.dtype), tensor::describe(x), tensor::describe(y));
  context.kernels().get(kScatterRows)(context, {x, rows, y});
}

}  // namespace dragoman::ops
