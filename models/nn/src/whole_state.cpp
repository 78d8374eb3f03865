#include "dragoman/nn/whole_state.h"

#include "kept_type.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/ops/rows.h>

namespace dragoman::nn {

WholeState::WholeState(std::span<const KeyValue> memories, const ops::Offsets& source_offsets, tensor::ComputeType type)
    : memories_(memories), source_offsets_(source_offsets), kept_type_(kept_type_of(type)) {}

void WholeState::begin_step(Context& context, const tensor::RaggedTokens& next) {
  core::require(next.offsets.size() == source_offsets_.host.size(), core::ErrorCode::kInvalidArgument,
                "{} targets for {} source sentences", next.batch(), source_offsets_.size() - 1);
  device_memory_ = &context.memory();
  attention_.clear();
  host_positions_.resize(next.tokens.size());
  for (std::int64_t b = 0; b < next.batch(); ++b)
    for (std::int32_t i = 0; i < next.length(b); ++i)
      host_positions_[static_cast<std::size_t>(next.offsets[b] + i)] = i;
  positions_ = context.indices(host_positions_);
  row_offsets_ = context.indices(next.offsets);
}

const Variable& WholeState::kept(Context& context, const Variable& keys_or_values) const {
  if (kept_type_ != tensor::DType::kF32) ops::round_to(context, keys_or_values.value, kept_type_);
  return keys_or_values;
}

Variable WholeState::attend_history(Context& context, HistoryId, const Variable& q, const Variable& k,
                                    const Variable& v, int heads, double dropout, double scale, const Variable& bias) {
  return ops::attention(context, q, kept(context, k), kept(context, v), row_offsets_, row_offsets_,
                        {.heads = heads, .causal = true, .dropout = dropout, .scale = scale}, false, bias)
      .output;
}

Variable WholeState::attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double dropout,
                                   double scale) {
  const KeyValue& memory = memories_[static_cast<std::size_t>(id.index)];
  const bool keeps = attention_.wants(id);
  const bool guides = id.index == guide_.memory.index;
  if (keeps) attention_.set_total_heads(heads);
  const ops::AttentionResult result =
      ops::attention(context, q, kept(context, memory.keys), kept(context, memory.values), row_offsets_,
                     source_offsets_, {.heads = heads, .dropout = dropout, .scale = scale}, guides || keeps);
  if (keeps) attention_.keep(result.weights.value);
  if (guides) {
    ops::alignment_loss_rows(context, result.weights, row_offsets_, source_offsets_, heads, guide_.goal, guide_.losses);
    guided_ = true;
  }
  return result.output;
}

std::vector<float> WholeState::alignment(std::int64_t token) {
  attention_.require_kept();
  const std::span offsets = row_offsets_.host;
  const std::span sources = source_offsets_.host;
  const auto after = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int32_t>(token));
  const auto row = static_cast<std::size_t>(after - offsets.begin()) - 1;
  const std::int64_t queries = offsets[row + 1] - offsets[row];
  const std::int64_t keys = sources[row + 1] - sources[row];
  const std::int64_t first = ops::weight_offsets(offsets, sources, attention_.total_heads())[row];
  return attention_.mean(
      *device_memory_,
      {.row = 0, .column = first + (token - offsets[row]) * keys, .head_stride = queries * keys, .keys = keys});
}

Tensor WholeState::previous(Context&, RowStateId) const {
  return {};
}

void WholeState::store(Context&, RowStateId, const Tensor&) {}

}  // namespace dragoman::nn
