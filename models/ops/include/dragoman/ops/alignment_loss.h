#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Guided alignment (Chen et al. 2016; Garg et al. 2019): the loss for the difference between attention and given links
/// from queries to keys.
///
/// `weights` are the weights of an attention with these offsets and `heads` heads (AttentionArguments::probabilities).
/// Query row t is linked to the keys links[link_offsets[t]] .. links[link_offsets[t + 1] - 1], numbered within its
/// sequence. `links` may be longer than the offsets require.
///
/// Let w be the mean of the weights of query t in the first `guided_heads` heads. Let a be the distribution that gives
/// 1 / n to each of its n links. Then losses[t] (F64, [1, Tq]) is
///   kCrossEntropy      -sum_j a_j log(w_j + kAlignmentEpsilon)
///   kMeanSquaredError  sum_j (w_j - a_j)^2 / 2
///   kMultiplication    -log(sum_j a_j w_j + kAlignmentEpsilon)
/// A row without links has the loss 0.
///
/// If `gradient_scale` is given, `gradient` receives gradient_scale times the gradient of the summed losses. It has one
/// element for each weight of the sequences; elements without gradient become 0.
struct AlignmentLossRowsArguments {
  Tensor weights;
  DeviceIndices q_offsets;
  DeviceIndices k_offsets;
  int heads = 1;
  int guided_heads = 1;
  DeviceIndices link_offsets;
  DeviceIndices links;
  AlignmentCost cost = AlignmentCost::kCrossEntropy;
  DeviceArray<double> gradient_scale;  ///< one value, or empty
  Tensor losses;
  Tensor gradient;  ///< empty without a scale
};
inline constexpr KernelKey<void(Context&, const AlignmentLossRowsArguments&)> kAlignmentLossRows{"alignment_loss_rows"};

/// The goal of guided attention, and the cost of missing it.
struct AlignmentGoal {
  Indices link_offsets{};  ///< [Tq + 1]
  Indices links{};
  AlignmentCost cost = AlignmentCost::kCrossEntropy;
  /// The number of guided heads, counted from the first. If the attention has fewer, all are guided.
  int heads = 1;
  /// The factor of the summed loss for the gradient: one value, required with a tape.
  DeviceArray<double> gradient_scale{};
};

/// nn::WholeState::guide_attention() calls this op for one attention of a model.
///
/// Stores the loss of each query in `losses`, F64 [1, Tq], which the caller owns. If `weights` needs a gradient, the op
/// computes it immediately and ends the graph, like cross_entropy_rows(). Error{kInvalidArgument} for links outside
/// their sequence, for weights that already have a gradient, and for arguments of inconsistent sizes.
void alignment_loss_rows(Context& context, const Variable& weights, const Offsets& q_offsets, const Offsets& k_offsets,
                         int heads, const AlignmentGoal& goal, const Tensor& losses);

}  // namespace dragoman::ops
