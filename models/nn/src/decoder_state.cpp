#include "dragoman/nn/decoder_state.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/extend_lists.h>
#include <dragoman/ops/rows.h>

namespace dragoman::nn {
namespace {

/// Widths of the tensors of a pool: keys and values of every entry.
std::vector<std::int64_t> key_value_widths(const std::vector<std::int64_t>& widths) {
  std::vector<std::int64_t> result;
  for (const std::int64_t width : widths) result.insert(result.end(), 2, width);
  return result;
}

/// Of decoders whose weights are multiplied in the type; F32 stands for floats as they are.
tensor::DType kept_type_of(tensor::ComputeType type) {
  switch (type) {
    case tensor::ComputeType::kF32:
      return tensor::DType::kF32;
    case tensor::ComputeType::kF16:
      return tensor::DType::kF16;
    default:
      return tensor::DType::kBF16;
  }
}

void append_range(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from, std::int32_t begin,
                  std::int32_t end) {
  to.insert(to.end(), from.begin() + begin, from.begin() + end);
}

}  // namespace

HistoryId StateLayout::add_history(std::int64_t width) {
  histories_.push_back(width);
  return {static_cast<int>(histories_.size()) - 1};
}

MemoryId StateLayout::add_memory(std::int64_t width) {
  memories_.push_back(width);
  return {static_cast<int>(memories_.size()) - 1};
}

RowStateId StateLayout::add_row_state(std::int64_t width) {
  row_states_.push_back(width);
  return {static_cast<int>(row_states_.size()) - 1};
}

DecoderState DecoderState::whole(std::span<const KeyValue> memories, const ops::Offsets& source_offsets,
                                 tensor::ComputeType type) {
  DecoderState state;
  state.kept_type_ = kept_type_of(type);
  state.whole_ = true;
  state.memories_ = memories;
  state.source_offsets_ = source_offsets;
  return state;
}

DecoderState::DecoderState(const Context& context, const StateLayout& layout, tensor::ComputeType type)
    : layout_(layout),
      device_memory_(&context.memory()),
      kept_type_(type == tensor::ComputeType::kF32 ? context.float_type() : kept_type_of(type)),
      history_(context, key_value_widths(layout.histories()), kept_type_),
      memory_(context, key_value_widths(layout.memories()), kept_type_),
      lists_on_device_(!context.memory().reads_host_memory()),
      row_state_buffers_(layout.row_states().size()) {
  for (const std::int64_t width : layout.row_states())
    row_states_.push_back({nullptr, 0, width, width, context.float_type(), context.device()});
}

std::int32_t DecoderState::free_slot() {
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (!slots_[i].live) return static_cast<std::int32_t>(i);
  slots_.emplace_back();
  return static_cast<std::int32_t>(slots_.size()) - 1;
}

void DecoderState::admit(Context& context, std::span<const std::int32_t> source_offsets,
                         std::span<std::int32_t> slots) {
  core::require(!whole_, core::ErrorCode::kInvalidArgument, "a state for whole targets admits no sentences");
  core::require(slots.size() + 1 == source_offsets.size(), core::ErrorCode::kInvalidArgument,
                "{} slots for {} sentences", slots.size(), source_offsets.size() - 1);
  std::vector<std::int32_t> rows;
  rows.reserve(static_cast<std::size_t>(source_offsets.back()));
  for (std::size_t b = 0; b < slots.size(); ++b) {
    slots[b] = free_slot();
    Slot& slot = slots_[static_cast<std::size_t>(slots[b])];
    slot.live = true;
    slot.rows_used = 0;
    slot.source_rows = source_offsets[b + 1] - source_offsets[b];
    if (layout_.memories().empty()) continue;
    for (std::int32_t i = 0; i < slot.source_rows; ++i) {
      const std::int32_t within = i % RowPool::kPageRows;
      if (within == 0) slot.memory_pages.push_back(memory_.take_page());
      rows.push_back(slot.memory_pages.back() + within);
    }
  }
  step_.admitted = context.upload_copy(std::span<const std::int32_t>(rows));
}

void DecoderState::store_memories(Context& context, std::span<const KeyValue> memories) {
  core::require(memories.size() == layout_.memories().size(), core::ErrorCode::kInvalidArgument,
                "{} memories for a layout of {}", memories.size(), layout_.memories().size());
  for (int m = 0; m < static_cast<int>(memories.size()); ++m) {
    const KeyValue& memory = memories[static_cast<std::size_t>(m)];
    ops::scatter_rows(context, memory.keys.value, step_.admitted, memory_.rows(2 * m));
    ops::scatter_rows(context, memory.values.value, step_.admitted, memory_.rows(2 * m + 1));
  }
}

bool DecoderState::is_live(std::int32_t slot) const {
  return slot >= 0 && static_cast<std::size_t>(slot) < slots_.size() && slots_[static_cast<std::size_t>(slot)].live;
}

void DecoderState::release(std::int32_t slot_number) {
  core::require(is_live(slot_number), core::ErrorCode::kInvalidArgument,
                "slot {} holds no sentence: it was never admitted, or is released twice", slot_number);
  Slot& slot = slots_[static_cast<std::size_t>(slot_number)];
  history_.give_back(slot.pages);
  memory_.give_back(slot.memory_pages);
  slot.pages.clear();
  slot.memory_pages.clear();
  slot.live = false;
}

void DecoderState::set_rows(std::span<const RowRef> rows) {
  std::swap(previous_rows_, rows_);
  rows_.assign(rows.begin(), rows.end());
}

std::int32_t DecoderState::history_length(std::int64_t row) const {
  const auto r = static_cast<std::size_t>(row);
  return ancestor_offsets_[r + 1] - ancestor_offsets_[r];
}

std::int32_t DecoderState::source_length(std::int32_t slot) const {
  return slots_[static_cast<std::size_t>(slot)].source_rows;
}

std::int32_t DecoderState::append_history_row(Slot& slot) {
  const std::int32_t within = slot.rows_used % RowPool::kPageRows;
  if (within == 0) slot.pages.push_back(history_.take_page());
  ++slot.rows_used;
  return slot.pages.back() + within;
}

void DecoderState::begin_step(Context& context, const tensor::RaggedTokens& next) {
  device_memory_ = &context.memory();
  alignment_weights_ = {};
  alignment_on_host_.reset();
  check_step(next);
  positions_.resize(next.tokens.size());
  if (whole_) {
    begin_whole_step(next);
  } else {
    append_histories(next);
    list_memories(next);
    make_room_for_row_states();
    parents_.clear();
    for (const RowRef& row : rows_) parents_.push_back(row.parent);
    step_.parents = context.upload(std::span<const std::int32_t>(parents_));
    step_.new_rows = context.upload(std::span<const std::int32_t>(new_rows_));
    upload_ancestors(context);
    step_.sources = upload(context, sources_);
  }
  step_.positions = context.indices(positions_);
  step_.row_offsets = context.indices(next.offsets);
}

/// The host knows where they lie, and how long they are.
void DecoderState::upload_ancestors(Context& context) {
  if (!lists_on_device_) {
    step_.ancestors = upload(context, ancestors_);
    return;
  }
  step_.ancestors = {context.room_for<std::int32_t>(ancestor_offsets_.back()),
                     context.upload(std::span<const ops::KeyRange>(ancestors_.ranges)),
                     static_cast<std::int32_t>(context.bucket(ancestors_.longest))};
  step_.previous_ancestor_offsets = context.upload(std::span<const std::int32_t>(previous_ancestor_offsets_));
  step_.ancestor_offsets = context.upload(std::span<const std::int32_t>(ancestor_offsets_));
}

void DecoderState::complete_step(Context& context) {
  if (!lists_on_device_) return;
  const std::int64_t count = step_.ancestors.rows.size();
  const auto list = [&](void* data) { return Tensor{data, 1, count, count, tensor::DType::kI32, context.device()}; };
  std::swap(kept_lists_[0], kept_lists_[1]);
  const tensor::Buffer& before = kept_lists_[1];
  tensor::Buffer& kept = kept_lists_[0];
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
  if (kept.size() < bytes) kept = tensor::Buffer(context.memory(), 2 * bytes);
  context.kernels().get(ops::kExtendLists)(context,
                                           {.before = list(before.data()),
                                            .before_offsets = step_.previous_ancestor_offsets,
                                            .parents = step_.parents,
                                            .added = step_.new_rows,
                                            .added_offsets = step_.row_offsets,
                                            .offsets = step_.ancestor_offsets,
                                            .lists = list(const_cast<std::int32_t*>(step_.ancestors.rows.data)),
                                            .kept = list(kept.data())});
}

void DecoderState::check_step(const tensor::RaggedTokens& next) const {
  if (whole_) {
    core::require(next.offsets.size() == source_offsets_.host.size(), core::ErrorCode::kInvalidArgument,
                  "{} targets for {} source sentences", next.batch(), source_offsets_.size() - 1);
    return;
  }
  core::require(next.offsets.size() == rows_.size() + 1, core::ErrorCode::kInvalidArgument,
                "{} token sequences for {} rows", next.batch(), rows_.size());
  const auto previous = static_cast<std::int64_t>(previous_rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const auto [slot, parent] = rows_[r];
    core::require(is_live(slot), core::ErrorCode::kInvalidArgument, "row {} is of slot {}, which holds no sentence", r,
                  slot);
    core::require(parent >= -1 && parent < previous, core::ErrorCode::kInvalidArgument,
                  "row {} continues row {}, but the last step had {}", r, parent, previous);
    core::require(parent < 0 || previous_rows_[static_cast<std::size_t>(parent)].slot == slot,
                  core::ErrorCode::kInvalidArgument, "row {} of slot {} continues row {}, which is of slot {}", r, slot,
                  parent, parent < 0 ? -1 : previous_rows_[static_cast<std::size_t>(parent)].slot);
    core::require(next.offsets[r] < next.offsets[r + 1], core::ErrorCode::kInvalidArgument, "row {} has no new tokens",
                  r);
  }
}

void DecoderState::begin_whole_step(const tensor::RaggedTokens& next) {
  for (std::int64_t b = 0; b < next.batch(); ++b)
    for (std::int32_t i = 0; i < next.length(b); ++i) positions_[static_cast<std::size_t>(next.offsets[b] + i)] = i;
}

void DecoderState::append_histories(const tensor::RaggedTokens& next) {
  std::swap(ancestors_.rows, previous_ancestors_);
  std::swap(ancestor_offsets_, previous_ancestor_offsets_);
  ancestors_.rows.clear();
  ancestors_.ranges.clear();
  ancestors_.longest = 0;
  ancestor_offsets_.assign(1, 0);
  new_rows_.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::int32_t begin = ancestor_offsets_.back();
    std::int32_t count = 0;
    if (rows_[r].parent >= 0) {
      const auto parent = static_cast<std::size_t>(rows_[r].parent);
      const std::int32_t parent_begin = previous_ancestor_offsets_[parent];
      count = previous_ancestor_offsets_[parent + 1] - parent_begin;
      if (!lists_on_device_) append_range(ancestors_.rows, previous_ancestors_, parent_begin, parent_begin + count);
    }
    for (std::int32_t i = next.offsets[r]; i < next.offsets[r + 1]; ++i) {
      new_rows_.push_back(append_history_row(slots_[static_cast<std::size_t>(rows_[r].slot)]));
      if (!lists_on_device_) ancestors_.rows.push_back(new_rows_.back());
      positions_[static_cast<std::size_t>(i)] = count++;
      ancestors_.ranges.push_back({begin, count});
    }
    ancestors_.longest = std::max(ancestors_.longest, count);
    ancestor_offsets_.push_back(begin + count);
  }
}

/// Each sentence's memory is listed once, for all of its rows.
void DecoderState::list_memories(const tensor::RaggedTokens& next) {
  sources_.rows.clear();
  sources_.ranges.clear();
  sources_.longest = 0;
  if (layout_.memories().empty()) return;
  for (const RowRef& row : rows_) slots_[static_cast<std::size_t>(row.slot)].memory_begin = -1;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    Slot& slot = slots_[static_cast<std::size_t>(rows_[r].slot)];
    if (slot.memory_begin < 0) {
      slot.memory_begin = static_cast<std::int32_t>(sources_.rows.size());
      for (std::int32_t i = 0; i < slot.source_rows; ++i)
        sources_.rows.push_back(slot.memory_pages[static_cast<std::size_t>(i / RowPool::kPageRows)] +
                                i % RowPool::kPageRows);
    }
    sources_.ranges.insert(sources_.ranges.end(), static_cast<std::size_t>(next.offsets[r + 1] - next.offsets[r]),
                           {slot.memory_begin, slot.source_rows});
    sources_.longest = std::max(sources_.longest, slot.source_rows);
  }
}

void DecoderState::make_room_for_row_states() {
  const auto rows = static_cast<std::int64_t>(rows_.size());
  for (std::size_t i = 0; i < row_states_.size(); ++i) {
    Tensor& states = row_states_[i];
    if (states.rows >= rows) continue;
    const std::size_t row_bytes = static_cast<std::size_t>(states.cols) * tensor::size_of(states.dtype);
    tensor::Buffer larger(*device_memory_, row_bytes * static_cast<std::size_t>(2 * rows));
    if (states.rows > 0)
      device_memory_->copy(larger.data(), states.data, row_bytes * static_cast<std::size_t>(states.rows));
    row_state_buffers_[i] = std::move(larger);
    states.data = row_state_buffers_[i].data();
    states.rows = 2 * rows;
    row_state_generation_ = tensor::next_generation();
  }
}

DecoderState::DeviceKeyLists DecoderState::upload(Context& context, const KeyLists& lists) {
  return {context.upload(std::span<const std::int32_t>(lists.rows)),
          context.upload(std::span<const ops::KeyRange>(lists.ranges)),
          static_cast<std::int32_t>(context.bucket(lists.longest))};
}

Variable DecoderState::attend_cached(Context& context, const Variable& q, const RowPool& pool, int first,
                                     const DeviceKeyLists& lists, int heads, double scale, const Tensor& bias,
                                     bool keep_weights) {
  const Tensor weights = keep_weights
                             ? context.allocate_for_step(q.value.rows, static_cast<std::int64_t>(heads) * lists.longest)
                             : Tensor{};
  const Tensor y = context.allocate(q.value.rows, q.value.cols);
  context.kernels().get(ops::kCachedAttention)(context, {.q = q.value,
                                                         .keys = pool.rows(first),
                                                         .values = pool.rows(first + 1),
                                                         .key_rows = lists.rows,
                                                         .ranges = lists.ranges,
                                                         .longest = lists.longest,
                                                         .heads = heads,
                                                         .probabilities = weights,
                                                         .y = y,
                                                         .scale = scale,
                                                         .bias = bias});
  if (keep_weights) alignment_weights_ = weights;
  return {y, nullptr};
}

std::size_t DecoderState::bytes_of(std::int64_t elements) const noexcept {
  return static_cast<std::size_t>(elements) * tensor::size_of(kept_type_);
}

const Variable& DecoderState::kept(Context& context, const Variable& keys_or_values) const {
  if (kept_type_ != tensor::DType::kF32) ops::round_to(context, keys_or_values.value, kept_type_);
  return keys_or_values;
}

Variable DecoderState::attend_history(Context& context, HistoryId id, const Variable& q, const Variable& k,
                                      const Variable& v, int heads, double dropout, double scale,
                                      const Variable& bias) {
  if (whole_)
    return ops::attention(context, q, kept(context, k), kept(context, v), step_.row_offsets, step_.row_offsets,
                          {.heads = heads, .causal = true, .dropout = dropout, .scale = scale}, false, bias)
        .output;
  ops::scatter_rows(context, k.value, step_.new_rows, history_.rows(2 * id.index));
  ops::scatter_rows(context, v.value, step_.new_rows, history_.rows(2 * id.index + 1));
  return attend_cached(context, q, history_, 2 * id.index, step_.ancestors, heads, scale, bias.value, false);
}

Variable DecoderState::attend_whole_memory(Context& context, MemoryId id, const Variable& q,
                                           const ops::AttentionOptions& options) {
  const KeyValue& memory = memories_[static_cast<std::size_t>(id.index)];
  const bool guides = id.index == guide_.memory.index;
  const ops::AttentionResult result =
      ops::attention(context, q, kept(context, memory.keys), kept(context, memory.values), step_.row_offsets,
                     source_offsets_, options, guides || keeps(id));
  if (keeps(id)) alignment_weights_ = result.weights.value;
  if (guides) {
    ops::alignment_loss_rows(context, result.weights, step_.row_offsets, source_offsets_, options.heads, guide_.goal,
                             guide_.losses);
    guided_ = true;
  }
  return result.output;
}

Variable DecoderState::attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double dropout,
                                     double scale) {
  alignment_total_heads_ = keeps(id) ? heads : alignment_total_heads_;
  if (whole_) return attend_whole_memory(context, id, q, {.heads = heads, .dropout = dropout, .scale = scale});
  return attend_cached(context, q, memory_, 2 * id.index, step_.sources, heads, scale, {}, keeps(id));
}

std::vector<float> DecoderState::alignment(std::int64_t token) {
  core::require(!alignment_weights_.empty(), core::ErrorCode::kInvalidArgument,
                "no alignment was kept: request_alignment() before decode()");
  if (!alignment_on_host_) alignment_on_host_ = tensor::HostView::of(*device_memory_, alignment_weights_);
  const Tensor& weights = alignment_on_host_->tensor();
  const std::span offsets = step_.row_offsets.host;
  const auto after = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int32_t>(token));
  const auto row = static_cast<std::size_t>(after - offsets.begin()) - 1;
  const std::int64_t queries = offsets[row + 1] - offsets[row];
  const std::int64_t keys =
      whole_ ? source_offsets_.host[row + 1] - source_offsets_.host[row] : source_length(rows_[row].slot);
  const int heads = std::min(alignment_request_.heads, alignment_total_heads_);
  const std::int64_t first_weight =
      whole_ ? ops::weight_offsets(offsets, source_offsets_.host, alignment_total_heads_)[row] : 0;
  std::vector<float> mean(static_cast<std::size_t>(keys), 0.0F);
  for (int head = 0; head < heads; ++head) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const double weight =
          whole_ ? tensor::element(weights, 0, first_weight + (head * queries + token - offsets[row]) * keys + j)
                 : tensor::element(weights, token, head * keys + j);
      mean[static_cast<std::size_t>(j)] += static_cast<float>(weight / heads);
    }
  }
  return mean;
}

Tensor DecoderState::previous(Context& context, RowStateId id) const {
  if (whole_) return {};
  return ops::gather_rows(context, row_states_[static_cast<std::size_t>(id.index)], step_.parents);
}

void DecoderState::store(Context& context, RowStateId id, const Tensor& latest) {
  if (whole_) return;
  const Tensor& states = row_states_[static_cast<std::size_t>(id.index)];
  tensor::require_shape(latest, static_cast<std::int64_t>(rows_.size()), states.cols, "the row state");
  context.kernels().get(ops::kScale)(context, {latest, 1.0, states.row_range(0, latest.rows), false});
}

}  // namespace dragoman::nn
