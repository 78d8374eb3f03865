#include "check.h"
#include "dragoman/ops/attention.h"
#include "dragoman/ops/elementwise.h"
#include "dragoman/ops/matmul.h"
#include "dragoman/ops/slice.h"
#include "dragoman/ops/softmax.h"

#include <algorithm>
#include <vector>

#include <dragoman/core/error.h>

namespace dragoman::ops {

namespace {

/// Returns the bias by distance of one head with `queries` queries and `keys` keys: [queries, keys].
Variable bias_of_head(Context& context, const Variable& bias, std::int64_t queries, std::int64_t keys,
                      std::int64_t head) {
  const std::int64_t reach = bias_reach(bias.value);
  std::vector<Placed> cells;
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) {
      const std::int64_t row = reach + std::clamp(j - (i + keys - queries), -reach, reach);
      cells.push_back({slice(context, bias, row, row + 1, head, head + 1), i, j});
    }
  return assemble(context, queries, keys, cells);
}

}  // namespace

Variable attention_composite(Context& context, const Variable& q, const Variable& k, const Variable& v,
                             const Offsets& q_offsets, const Offsets& k_offsets, const AttentionOptions& options,
                             const Variable& bias) {
  core::require(!autograd::is_training(context) || options.dropout == 0, core::ErrorCode::kUnsupported,
                "attention_composite: dropout on the weights exists in the fused form only");
  const std::int64_t width = q.value.cols / options.heads;
  std::vector<Placed> blocks;
  for (std::size_t b = 0; b + 1 < q_offsets.host.size(); ++b) {
    const std::int64_t queries = q_offsets.host[b + 1] - q_offsets.host[b];
    const std::int64_t keys = k_offsets.host[b + 1] - k_offsets.host[b];
    if (queries == 0) continue;
    core::require(!options.causal || keys >= queries, core::ErrorCode::kUnsupported,
                  "attention_composite: causal attention of {} queries over {} keys exists in the fused form only",
                  queries, keys);
    for (std::int64_t column = 0; column < q.value.cols; column += width) {
      const Variable head_q = slice(context, q, q_offsets.host[b], q_offsets.host[b + 1], column, column + width);
      const Variable head_k = slice(context, k, k_offsets.host[b], k_offsets.host[b + 1], column, column + width);
      const Variable head_v = slice(context, v, k_offsets.host[b], k_offsets.host[b + 1], column, column + width);
      Variable scores =
          scale(context, matmul(context, head_q, head_k, true), score_scale<double>(options.scale, width));
      if (!bias.empty()) scores = add(context, scores, bias_of_head(context, bias, queries, keys, column / width));
      const Variable weights = softmax(context, scores, options.causal ? keys - queries : -1);
      blocks.push_back({matmul(context, weights, head_v), q_offsets.host[b], column});
    }
  }
  return assemble(context, q.value.rows, q.value.cols, blocks);
}

}  // namespace dragoman::ops
