#include "dragoman/ops/alignment_loss.h"

#include "dragoman/ops/attention.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::ops {
namespace {

using core::ErrorCode;

/// Checks every link, because kernels read the keys that links name.
void check_links(const Offsets& q_offsets, const Offsets& k_offsets, const AlignmentGoal& goal) {
  const std::span begins = goal.link_offsets.host;
  if (goal.link_offsets.size() != q_offsets.host.back() + 1 || begins.front() != 0 ||
      begins.back() > goal.links.size() || !std::ranges::is_sorted(begins))
    core::fail(ErrorCode::kInvalidArgument, "alignment loss: {} boundaries of {} links for {} queries",
               goal.link_offsets.size(), goal.links.size(), q_offsets.host.back());
  for (std::size_t b = 0; b + 1 < q_offsets.host.size(); ++b) {
    const std::int32_t keys = k_offsets.host[b + 1] - k_offsets.host[b];
    const auto first = begins[static_cast<std::size_t>(q_offsets.host[b])];
    const auto last = begins[static_cast<std::size_t>(q_offsets.host[b + 1])];
    for (std::int32_t i = first; i < last; ++i)
      if (const std::int32_t key = goal.links.host[static_cast<std::size_t>(i)]; key < 0 || key >= keys)
        core::fail(ErrorCode::kInvalidArgument, "alignment loss: a link to key {} of sequence {}, which has {}", key, b,
                   keys);
  }
}

void check(const Variable& weights, const Offsets& q_offsets, const Offsets& k_offsets, int heads,
           const AlignmentGoal& goal, const Tensor& losses, bool record) {
  core::require(q_offsets.size() == k_offsets.size() && q_offsets.size() > 0, ErrorCode::kInvalidArgument,
                "alignment loss: {} query sequences but {} key sequences", q_offsets.size() - 1, k_offsets.size() - 1);
  core::require(heads > 0 && goal.heads > 0, ErrorCode::kInvalidArgument, "alignment loss: {} of {} heads", goal.heads,
                heads);
  core::require(weights.value.size() >= heads * pairs_of_rows(q_offsets.host, k_offsets.host),
                ErrorCode::kInvalidArgument, "alignment loss: {} weights are not those of these sequences",
                weights.value.size());
  core::require(losses.cols == q_offsets.host.back(), ErrorCode::kInvalidArgument,
                "alignment loss: room for {} losses of {} queries", losses.cols, q_offsets.host.back());
  core::require(!record || goal.gradient_scale.size() == 1, ErrorCode::kInvalidArgument,
                "alignment loss: with a tape the gradient's scale is one number, not {}", goal.gradient_scale.size());
  core::require(!record || !weights.gradient->written, ErrorCode::kInvalidArgument,
                "alignment loss: the weights have a gradient already");
  check_links(q_offsets, k_offsets, goal);
}

}  // namespace

void alignment_loss_rows(Context& context, const Variable& weights, const Offsets& q_offsets, const Offsets& k_offsets,
                         int heads, const AlignmentGoal& goal, const Tensor& losses) {
  const bool record = autograd::recording(context, weights);
  check(weights, q_offsets, k_offsets, heads, goal, losses, record);
  if (losses.cols == 0) return;
  const Tensor gradient = record ? autograd::target_of(context, *weights.gradient).value : Tensor{};
  context.kernels().get(kAlignmentLossRows)(context,
                                            {.weights = weights.value,
                                             .q_offsets = q_offsets,
                                             .k_offsets = k_offsets,
                                             .heads = heads,
                                             .guided_heads = std::min(goal.heads, heads),
                                             .link_offsets = goal.link_offsets,
                                             .links = goal.links,
                                             .cost = goal.cost,
                                             .gradient_scale = record ? goal.gradient_scale : DeviceArray<double>{},
                                             .losses = losses,
                                             .gradient = gradient});
}

}  // namespace dragoman::ops
