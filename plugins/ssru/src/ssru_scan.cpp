#include "ssru_scan.h"

#include <dragoman/autograd/tape.h>
#include <dragoman/core/error.h>

namespace dragoman::ssru {
namespace {

GradientTarget optional_target(Context& context, const Variable& variable) {
  return variable.needs_gradient() ? autograd::target_of(context, *variable.gradient) : GradientTarget{};
}

void check(const Tensor& candidates, const Tensor& forget, const Tensor& initial, const Offsets& offsets) {
  tensor::require_shape(forget, candidates.rows, candidates.cols, "ssru.scan: the forget gate");
  core::require(offsets.size() > 0 && offsets.host.back() == candidates.rows, core::ErrorCode::kInvalidArgument,
                "ssru.scan: the offsets do not end at the {} rows", candidates.rows);
  if (!initial.empty())
    tensor::require_shape(initial, offsets.size() - 1, candidates.cols, "ssru.scan: the initial cells");
}

}  // namespace

ScanResult scan(Context& context, const Variable& candidates, const Variable& forget, const Tensor& initial,
                const Offsets& offsets) {
  const Tensor& z = candidates.value;
  check(z, forget.value, initial, offsets);
  const bool record = autograd::recording(context, candidates, forget);
  core::require(!record || initial.empty(), core::ErrorCode::kInvalidArgument,
                "ssru.scan: there is no gradient through initial cells");
  const Variable cells = autograd::make_variable(context, context.allocate(z.rows, z.cols), record);
  const Tensor latest = initial.empty() ? Tensor{} : context.allocate(initial.rows, initial.cols);
  context.kernels().get(kScan)(context, {z, forget.value, initial, offsets, cells.value, latest});
  if (record)
    autograd::record(context, cells.gradient, [=](Context& ctx) {
      ctx.kernels().get(kScanBackward)(ctx,
                                       {candidates.value, forget.value, cells.value, offsets, cells.gradient->value,
                                        optional_target(ctx, candidates), optional_target(ctx, forget)});
    });
  return {cells, latest};
}

}  // namespace dragoman::ssru
