#pragma once

#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// The loss of R-Drop (Liang et al. 2021, equations 1 to 3), halved so that it has the magnitude of one pass. Rows r of
/// `first` and `second` are two computations of the same prediction. With p and q their softmax,
///   loss = (CE(p) + CE(q)) / 2 + divergence_weight / 2 * (KL(p || q) + KL(q || p)) / 2
/// CE is the loss of CrossEntropyRowsArguments, label smoothing included. nlls are the means of both rows. If
/// `gradient_scale` is given, gradient_scale * d(loss)/d(logits) overwrites both logits. The divergence is
/// differentiated by p and by q. Rows without a target (kNoTarget) give zeros.
struct PairedCrossEntropyRowsArguments {
  Tensor first;
  Tensor second;
  DeviceIndices targets;
  double label_smoothing = 0;
  double divergence_weight = 0;
  DeviceArray<double> gradient_scale;  ///< one value, or empty
  Tensor losses;                       ///< F64 [1, rows]
  Tensor nlls;
};
inline constexpr KernelKey<void(Context&, const PairedCrossEntropyRowsArguments&)> kPairedCrossEntropyRows{
    "paired_cross_entropy_rows"};

/// Like cross_entropy_rows(), for hidden [2 T, d]. Rows T .. 2 T - 1 are the second computation of rows 0 .. T - 1.
/// Error{kInvalidArgument} unless `targets` has T elements; the losses have T, too.
RowLosses paired_cross_entropy_rows(Context& context, const Variable& hidden, const Projection& projection,
                                    const Indices& targets, double label_smoothing, double divergence_weight,
                                    const DeviceArray<double>& gradient_scale);

}  // namespace dragoman::ops
