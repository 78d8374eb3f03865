#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Guided alignment (Chen et al. 2016; Garg et al. 2019): what it costs that attention is not where links of queries to
/// keys want it. `weights` are those of an attention with these offsets and `heads` heads (AttentionArguments::
/// probabilities); query row t is linked to keys links[link_offsets[t]] .. links[link_offsets[t + 1] - 1], numbered
/// within its sequence. With w the mean of its weights in the first `guided_heads` heads and a the distribution that
/// gives each of its n links 1 / n, losses[t] (F64, [1, Tq]) is
///   kCrossEntropy      -sum_j a_j log(w_j + kAlignmentEpsilon)
///   kMeanSquaredError  sum_j (w_j - a_j)^2 / 2
///   kMultiplication    -log(sum_j a_j w_j + kAlignmentEpsilon)
/// and 0 for a row without links, which does not count. If there is a `gradient_scale`, `gradient`, as large as the
/// weights, receives gradient_scale times the gradient of the sum of losses: a number for each weight of the sequences,
/// zeros where none flows. `links` may be longer than the offsets say.
struct AlignmentLossRowsArguments {
  Tensor weights;
  DeviceIndices q_offsets;
  DeviceIndices k_offsets;
  int heads = 1;
  int guided_heads = 1;
  DeviceIndices link_offsets;
  DeviceIndices links;
  AlignmentCost cost = AlignmentCost::kCrossEntropy;
  DeviceArray<double> gradient_scale;  ///< one number, or empty
  Tensor losses;
  Tensor gradient;  ///< empty without a scale
};
inline constexpr KernelKey<void(Context&, const AlignmentLossRowsArguments&)> kAlignmentLossRows{"alignment_loss_rows"};

/// Where attention should be, and what it costs if it is not.
struct AlignmentGoal {
  Indices link_offsets{};  ///< [Tq + 1]
  Indices links{};
  AlignmentCost cost = AlignmentCost::kCrossEntropy;
  /// The first so many heads; of fewer all.
  int heads = 1;
  /// What the summed loss is multiplied by before it is differentiated: one number, needed with a tape.
  DeviceArray<double> gradient_scale{};
};

/// Stores the loss of each query in `losses`, F64 [1, Tq], which is the caller's, and, if `weights` wants a gradient,
/// gives it one at once: it ends the graph, as cross_entropy_rows() does. Error{kInvalidArgument} for links that are
/// outside of their sequence, for weights that have a gradient already, and for what does not fit together.
void alignment_loss_rows(Context& context, const Variable& weights, const Offsets& q_offsets, const Offsets& k_offsets,
                         int heads, const AlignmentGoal& goal, const Tensor& losses);

}  // namespace dragoman::ops
