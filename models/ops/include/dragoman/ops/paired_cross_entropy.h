#pragma once

#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// The loss of R-Drop (Liang et al. 2021, equations 1 to 3), halved so that it is of the size of one pass: with p and q
/// the softmax of rows r of `first` and `second`, which are two computations of one prediction,
///   loss = (CE(p) + CE(q)) / 2 + divergence_weight / 2 * (KL(p || q) + KL(q || p)) / 2
/// where CE is that of CrossEntropyRowsArguments, label smoothing included; nlls are the means of both. If there is a
/// `gradient_scale`, both overwrite their logits with gradient_scale * d(loss)/d(logits); the divergence is
/// differentiated by p and by q. A row without a target (kNoTarget) does not count: zeros.
struct PairedCrossEntropyRowsArguments {
  Tensor first;
  Tensor second;
  DeviceIndices targets;
  double label_smoothing = 0;
  double divergence_weight = 0;
  DeviceArray<double> gradient_scale;  ///< one number, or empty
  Tensor losses;                       ///< F64 [1, rows]
  Tensor nlls;
};
inline constexpr KernelKey<void(Context&, const PairedCrossEntropyRowsArguments&)> kPairedCrossEntropyRows{
    "paired_cross_entropy_rows"};

/// As cross_entropy_rows(), of hidden [2 T, d] whose rows T .. 2 T - 1 are the second computation of rows 0 .. T - 1;
/// targets and losses are T. Error{kInvalidArgument} if they are not.
RowLosses paired_cross_entropy_rows(Context& context, const Variable& hidden, const Projection& projection,
                                    const Indices& targets, double label_smoothing, double divergence_weight,
                                    const DeviceArray<double>& gradient_scale);

}  // namespace dragoman::ops
