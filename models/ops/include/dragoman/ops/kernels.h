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

// The list of all kernels. A backend defines and installs a kernel for each of these keys; a missing kernel is an
// undefined reference. The hidden test device, whose memory the host cannot read, uses the same list.
namespace dragoman::ops {

/// Kernels that every backend has.
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

/// Kernels that a backend may lack. The op then runs its composite, which is how the reference backend tests the
/// composites.
inline constexpr std::tuple kFusedKernels{
    kResidualLayerNorm,
    kResidualLayerNormBackward,
    kFeedForward,
    kLinearBackward,
};

/// Kernels of attention that does not keep its weights for the backward pass. A backend has both or neither.
inline constexpr std::tuple kRecomputingKernels{
    kRecomputedAttention,
    kRecomputedAttentionBackward,
};

/// Kernels for shortlists. A backend has all or none of them. Without them, decoding computes all outputs and masks the
/// tokens outside a row's shortlist.
inline constexpr std::tuple kShortlistKernels{
    kMakeShortlistOutputs,
    kGatherOutputs,
    kProjectShortlistTopK,
};

/// Optional kernels, each independent of the others. They fuse work of a training step on devices with large memory and
/// slow launches. Ops work without them.
inline constexpr std::tuple kStepKernels{
    kProjectionLoss,
    kRoundParameters,
    kDroppedLinear,
    kDroppedLinearBackward,
};

/// Calls visit(key) for each key of a list. Backends select the kernel of a key by its argument struct, so each key
/// needs its own struct. std::get rejects a type that occurs twice.
///
///     for_each_key(kKernels, [](const auto& key) { std::cout << key.name << '\n'; });
template <class... Keys, class Visitor>
void for_each_key(const std::tuple<Keys...>& keys, Visitor&& visit) {
  (visit(std::get<Keys>(keys)), ...);
}

}  // namespace dragoman::ops
