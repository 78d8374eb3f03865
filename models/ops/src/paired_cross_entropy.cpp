#include "dragoman/ops/paired_cross_entropy.h"

#include "check.h"
#include "dragoman/ops/elementwise.h"
#include "dragoman/ops/linear.h"
#include "dragoman/ops/matmul.h"

#include <algorithm>
#include <array>

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

/// The number of pairs of rows in a chunk. A chunk has 256 rows of logits, like the smaller chunks of
/// cross_entropy_rows().
constexpr std::int64_t kPairChunk = 128;

Tensor unrecorded_logits(Context& context, const Tensor& hidden, const Projection& projection) {
  const autograd::NoGradient unrecorded(context);
  return linear(context, {hidden, nullptr}, {{projection.weight.value.value, nullptr}, projection.weight.packed},
                {projection.bias.value, nullptr})
      .value;
}

void check_pairs(const Variable& hidden, const Projection& projection, const Indices& targets, bool record,
                 const DeviceArray<double>& gradient_scale) {
  using core::ErrorCode;
  core::require(2 * targets.size() == hidden.value.rows, ErrorCode::kInvalidArgument,
                "paired cross entropy: {} targets for {} rows, of which there must be twice as many", targets.size(),
                hidden.value.rows);
  for (std::size_t i = 0; i < targets.host.size(); ++i)
    if (targets.host[i] < kNoTarget || targets.host[i] >= projection.vocabulary())
      core::fail(ErrorCode::kInvalidArgument,
                 "paired cross entropy: target {} at row {} is outside of the vocabulary "
                 "of {}",
                 targets.host[i], i, projection.vocabulary());
  core::require(!record || projection.weight.packed == nullptr, ErrorCode::kInvalidArgument,
                "paired cross entropy: there is no gradient through a packed weight; train with plain weights");
  core::require(!record || gradient_scale.size() == 1, ErrorCode::kInvalidArgument,
                "paired cross entropy: with a tape the gradient's scale is one number, not {}", gradient_scale.size());
}

/// The gradients of one projection, which chunks add to.
struct ProjectionGradients {
  GradientTarget weight;
  GradientTarget bias;
  Tensor hidden;  ///< empty if not needed

  /// Adds the gradients of rows [begin, end). `logits` holds the gradients of their logits.
  void add(Context& context, const Tensor& h, const Tensor& table, std::int64_t begin, const Tensor& logits) {
    const std::int64_t end = begin + logits.rows;
    const ComputeType type = autograd::training_compute_type(context);
    auto* multiply = context.kernels().get(kMatMul);
    if (!hidden.empty()) multiply(context, {logits, false, table, false, hidden.row_range(begin, end), false, type});
    if (!weight.value.empty()) {
      multiply(context, {logits, true, h.row_range(begin, end), false, weight.value, weight.accumulate, type});
      weight.accumulate = true;
    }
    if (!bias.value.empty()) {
      context.kernels().get(kColumnSum)(context, {logits, bias.value, bias.accumulate});
      bias.accumulate = true;
    }
  }
};

}  // namespace

RowLosses paired_cross_entropy_rows(Context& context, const Variable& hidden, const Projection& projection,
                                    const Indices& targets, double label_smoothing, double divergence_weight,
                                    const DeviceArray<double>& gradient_scale) {
  const Tensor& h = hidden.value;
  const Variable& weight = projection.weight.value;
  const bool record = autograd::recording(context, hidden, weight, projection.bias);
  check_pairs(hidden, projection, targets, record, gradient_scale);
  const std::int64_t pairs = targets.size();
  if (pairs == 0) return {};
  const auto doubles = [&] { return context.arena().allocate(1, pairs, tensor::DType::kF64, context.device()); };
  const RowLosses rows{doubles(), doubles()};
  const DeviceIndices wanted = targets;
  const Tensor dh = record && hidden.needs_gradient() ? context.allocate(h.rows, h.cols) : Tensor{};
  // The targets are allocated before the chunks, so that their memory is not in a chunk's scratch.
  ProjectionGradients gradients{.weight = record ? optional_target(context, weight) : GradientTarget{},
                                .bias = record ? optional_target(context, projection.bias) : GradientTarget{},
                                .hidden = dh};
  for (std::int64_t begin = 0; begin < pairs; begin += kPairChunk) {
    const std::int64_t end = std::min(pairs, begin + kPairChunk);
    const tensor::ScratchScope scratch(context.arena());
    const Tensor first = unrecorded_logits(context, h.row_range(begin, end), projection);
    const Tensor second = unrecorded_logits(context, h.row_range(pairs + begin, pairs + end), projection);
    context.kernels().get(kPairedCrossEntropyRows)(
        context, {first, second, wanted.subarray(begin, end), label_smoothing, divergence_weight,
                  record ? gradient_scale : DeviceArray<double>{}, rows.losses.col_range(begin, end),
                  rows.nlls.col_range(begin, end)});
    if (!record) continue;
    gradients.add(context, h, weight.value, begin, first);
    gradients.add(context, h, weight.value, pairs + begin, second);
  }
  if (!dh.empty())
    autograd::record(context, nullptr, [hidden, dh](Context& ctx) { accumulate_gradient(ctx, hidden, dh); });
  return rows;
}

}  // namespace dragoman::ops
