#pragma once

#include <tuple>

#include <dragoman/ops/adam.h>
#include <dragoman/ops/alignment_loss.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/choose_next.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/extend_lists.h>
#include <dragoman/ops/feed_forward.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/paired_cross_entropy.h>
#include <dragoman/ops/project_shortlist_top_k.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/rounded_parameters.h>
#include <dragoman/ops/rows.h>
#include <dragoman/ops/softmax.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/update.h>
#include <dragoman/ops/update_rules.h>

// The one list of kernels. Backends define a kernel for each of these keys and install what stands here, and so does
// the device of the tests whose memory the host cannot read. A kernel that a backend lacks is an undefined reference.
namespace dragoman::ops {

/// What every backend has.
inline constexpr std::tuple kKernels{
    kAdd,
    kAddRow,
    kScale,
    kMultiply,
    kColumnSum,
    kActivation,
    kActivationBackward,
    kDropout,
    kMatMul,
    kPackWeight,
    kLinear,
    kLayerNorm,
    kLayerNormBackward,
    kSoftmax,
    kSoftmaxBackward,
    kCrossEntropyRows,
    kSumLosses,
    kEmbedding,
    kEmbeddingBackward,
    kAttention,
    kAttentionBackward,
    kCachedAttention,
    kProjectTopK,
    kChooseNext,
    kExtendLists,
    kGatherRows,
    kScatterRows,
    kRoundTo,
    kAdam,
    kMovingAverage,
    kSumOfSquares,
    kPrepareUpdate,
    kLion,
    kSgd,
    kAdafactor,
    kClipValues,
    kPairedCrossEntropyRows,
    kAlignmentLossRows,
};

/// What a backend may leave out: the op then runs its composite, which the reference backend thereby tests.
inline constexpr std::tuple kFusedKernels{
    kResidualLayerNorm,
    kResidualLayerNormBackward,
    kFeedForward,
    kLinearBackward,
};

/// What a backend has, both or neither, whose attention keeps no weights for its backward pass.
inline constexpr std::tuple kRecomputingKernels{
    kRecomputedAttention,
    kRecomputedAttentionBackward,
};

/// What a backend may leave out, all of it together: the decoding then computes all outputs, and masks those that are
/// not on a row's list.
inline constexpr std::tuple kShortlistKernels{
    kMakeShortlistOutputs,
    kGatherOutputs,
    kProjectShortlistTopK,
};

/// A backend may leave out each of these kernels separately. They do work of a training step that is worth having in
/// one kernel where memory is large and launches cost time. Ops do without them.
inline constexpr std::tuple kStepKernels{
    kProjectionLoss,
    kRoundParameters,
};

/// Calls visit(key) for each key of a list. Backends find a key's kernel by its arguments, so each key has a struct of
/// its own; std::get refuses a type that occurs twice.
template <class... Keys, class Visitor>
void for_each_key(const std::tuple<Keys...>& keys, Visitor&& visit) {
  (visit(std::get<Keys>(keys)), ...);
}

}  // namespace dragoman::ops
