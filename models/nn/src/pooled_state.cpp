#include "dragoman/nn/pooled_state.h"

#include "kept_type.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/extend_lists.h>
#include <dragoman/ops/rows.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {
namespace {

/// Returns the widths of the tensors in a pool: keys and values of every entry.
std::vector<std::int64_t> key_value_widths(const std::vector<std::int64_t>& widths) {
  std::vector<std::int64_t> result;
  for (const std::int64_t width : widths) result.insert(result.end(), 2, width);
  return result;
}

void append_range(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from, std::int32_t begin,
                  std::int32_t end) {
  to.insert(to.end(), from.begin() + begin, from.begin() + end);
}

}  // namespace

PooledState::PooledState(const Context& context, const StateLayout& layout, tensor::ComputeType type)
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

std::int32_t PooledState::free_slot() {
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (!slots_[i].live) return static_cast<std::int32_t>(i);
  slots_.emplace_back();
  return static_cast<std::int32_t>(slots_.size()) - 1;
}

void PooledState::admit(Context& context, std::span<const std::int32_t> source_offsets, std::span<std::int32_t> slots) {
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

void PooledState::store_memories(Context& context, std::span<const KeyValue> memories) {
  core::require(memories.size() == layout_.memories().size(), core::ErrorCode::kInvalidArgument,
                "{} memories for a layout of {}", memories.size(), layout_.memories().size());
  for (int m = 0; m < static_cast<int>(memories.size()); ++m) {
    const KeyValue& memory = memories[static_cast<std::size_t>(m)];
    ops::scatter_rows(context, memory.keys.value, step_.admitted, memory_.rows(2 * m));
    ops::scatter_rows(context, memory.values.value, step_.admitted, memory_.rows(2 * m + 1));
  }
}

bool PooledState::is_live(std::int32_t slot) const {
  return slot >= 0 && static_cast<std::size_t>(slot) < slots_.size() && slots_[static_cast<std::size_t>(slot)].live;
}

void PooledState::release(std::int32_t slot_number) {
  core::require(is_live(slot_number), core::ErrorCode::kInvalidArgument,
                "slot {} holds no sentence: it was never admitted, or is released twice", slot_number);
  Slot& slot = slots_[static_cast<std::size_t>(slot_number)];
  history_.give_back(slot.pages);
  memory_.give_back(slot.memory_pages);
  slot.pages.clear();
  slot.memory_pages.clear();
  slot.live = false;
}

void PooledState::set_rows(std::span<const RowRef> rows, std::int64_t padding) {
  std::swap(previous_rows_, rows_);
  previous_padding_ = std::exchange(padding_, padding);
  rows_.assign(rows.begin(), rows.end());
}

std::int32_t PooledState::history_length(std::int64_t row) const {
  const auto r = static_cast<std::size_t>(row);
  return ancestor_offsets_[r + 1] - ancestor_offsets_[r];
}

std::int32_t PooledState::source_length(std::int32_t slot) const {
  return slots_[static_cast<std::size_t>(slot)].source_rows;
}

std::int32_t PooledState::append_history_row(Slot& slot) {
  const std::int32_t within = slot.rows_used % RowPool::kPageRows;
  if (within == 0) slot.pages.push_back(history_.take_page());
  ++slot.rows_used;
  return slot.pages.back() + within;
}

void PooledState::begin_step(Context& context, const tensor::RaggedTokens& next) {
  attention_.clear();
  check_step(next);
  host_positions_.resize(next.tokens.size());
  append_histories(next);
  list_memories(next);
  make_room_for_row_states();
  parents_.clear();
  for (const RowRef& row : rows_) parents_.push_back(row.parent);
  step_.parents = context.upload(std::span<const std::int32_t>(parents_));
  step_.new_rows = context.upload(std::span<const std::int32_t>(new_rows_));
  upload_ancestors(context);
  step_.sources = upload(context, sources_);
  positions_ = context.indices(host_positions_);
  row_offsets_ = context.indices(next.offsets);
}

/// Even if the device lists the ancestors, the host knows the ranges and lengths of the lists.
void PooledState::upload_ancestors(Context& context) {
  if (!lists_on_device_) {
    step_.ancestors = upload(context, ancestors_);
    return;
  }
  // The key of a recorded step has the rows and the longest history. A room that grew with the sum of the histories
  // would change the signature of steps at other lengths.
  const auto rows = static_cast<std::int64_t>(rows_.size());
  step_.ancestors = {context.room_for<std::int32_t>(rows * context.bucket(ancestors_.longest)),
                     context.upload(std::span<const ops::KeyRange>(ancestors_.ranges)),
                     static_cast<std::int32_t>(context.bucket(ancestors_.longest))};
  step_.previous_ancestor_offsets = context.upload(std::span<const std::int32_t>(previous_ancestor_offsets_));
  step_.ancestor_offsets = context.upload(std::span<const std::int32_t>(ancestor_offsets_));
}

void PooledState::complete_step(Context& context) {
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
                                            .added_offsets = row_offsets_,
                                            .offsets = step_.ancestor_offsets,
                                            .lists = list(const_cast<std::int32_t*>(step_.ancestors.rows.data)),
                                            .kept = list(kept.data())});
}

void PooledState::check_step(const tensor::RaggedTokens& next) const {
  core::require(next.offsets.size() == rows_.size() + 1, core::ErrorCode::kInvalidArgument,
                "{} token sequences for {} rows", next.batch(), rows_.size());
  const auto previous = static_cast<std::int64_t>(previous_rows_.size()) - previous_padding_;
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

void PooledState::append_histories(const tensor::RaggedTokens& next) {
  std::swap(ancestors_.rows, previous_ancestors_);
  std::swap(ancestor_offsets_, previous_ancestor_offsets_);
  ancestors_.rows.clear();
  ancestors_.ranges.clear();
  ancestors_.longest = 0;
  ancestor_offsets_.assign(1, 0);
  new_rows_.clear();
  const std::size_t padding_begin = rows_.size() - static_cast<std::size_t>(padding_);
  for (std::size_t r = 0; r < padding_begin; ++r)
    append_history(r, next, slots_[static_cast<std::size_t>(rows_[r].slot)]);
  // No later step reads these rows, so their pages are free for it. Its kernels run after this step's.
  struct Padding {
    RowPool& pool;
    Slot slot{};
    ~Padding() { pool.give_back(slot.pages); }
  } padding{history_};
  for (std::size_t r = padding_begin; r < rows_.size(); ++r) append_history(r, next, padding.slot);
}

void PooledState::append_history(std::size_t r, const tensor::RaggedTokens& next, Slot& to) {
  const std::int32_t begin = ancestor_offsets_.back();
  std::int32_t count = 0;
  if (rows_[r].parent >= 0) {
    const auto parent = static_cast<std::size_t>(rows_[r].parent);
    const std::int32_t parent_begin = previous_ancestor_offsets_[parent];
    count = previous_ancestor_offsets_[parent + 1] - parent_begin;
    if (!lists_on_device_) append_range(ancestors_.rows, previous_ancestors_, parent_begin, parent_begin + count);
  }
  for (std::int32_t i = next.offsets[r]; i < next.offsets[r + 1]; ++i) {
    new_rows_.push_back(append_history_row(to));
    if (!lists_on_device_) ancestors_.rows.push_back(new_rows_.back());
    host_positions_[static_cast<std::size_t>(i)] = count++;
    ancestors_.ranges.push_back({begin, count});
  }
  ancestors_.longest = std::max(ancestors_.longest, count);
  ancestor_offsets_.push_back(begin + count);
}

/// Lists each sentence's memory once, for all of its rows.
void PooledState::list_memories(const tensor::RaggedTokens& next) {
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

void PooledState::make_room_for_row_states() {
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

PooledState::DeviceKeyLists PooledState::upload(Context& context, const KeyLists& lists) {
  return {context.upload(std::span<const std::int32_t>(lists.rows)),
          context.upload(std::span<const ops::KeyRange>(lists.ranges)),
          static_cast<std::int32_t>(context.bucket(lists.longest))};
}

Variable PooledState::attend_cached(Context& context, const Variable& q, const RowPool& pool, int first,
                                    const DeviceKeyLists& lists, int heads, double scale, const Tensor& bias,
                                    bool keep_weights) {
  const Tensor weights = keep_weights
                             ? context.allocate_for_step(q.value.rows, static_cast<std::int64_t>(heads) * lists.longest)
                             : Tensor{};
  // The host reads whole rows, including the part after a row's own keys.
  if (keep_weights && !context.memory().host_readable()) tensor::queue_clear(context.memory(), weights);
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
  if (keep_weights) attention_.keep(weights);
  return {y, nullptr};
}

std::size_t PooledState::bytes_of(std::int64_t elements) const noexcept {
  return static_cast<std::size_t>(elements) * tensor::size_of(kept_type_);
}

Variable PooledState::attend_history(Context& context, HistoryId id, const Variable& q, const Variable& k,
                                     const Variable& v, int heads, double, double scale, const Variable& bias) {
  ops::scatter_rows(context, k.value, step_.new_rows, history_.rows(2 * id.index));
  ops::scatter_rows(context, v.value, step_.new_rows, history_.rows(2 * id.index + 1));
  return attend_cached(context, q, history_, 2 * id.index, step_.ancestors, heads, scale, bias.value, false);
}

Variable PooledState::attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double, double scale) {
  const bool keeps = attention_.wants(id);
  if (keeps) attention_.set_total_heads(heads);
  return attend_cached(context, q, memory_, 2 * id.index, step_.sources, heads, scale, {}, keeps);
}

std::vector<float> PooledState::alignment(std::int64_t token) {
  attention_.require_kept();
  const std::span offsets = row_offsets_.host;
  const auto after = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int32_t>(token));
  const auto row = static_cast<std::size_t>(after - offsets.begin()) - 1;
  const std::int64_t keys = source_length(rows_[row].slot);
  return attention_.mean(*device_memory_, {.row = token, .column = 0, .head_stride = keys, .keys = keys});
}

Tensor PooledState::previous(Context& context, RowStateId id) const {
  return ops::gather_rows(context, row_states_[static_cast<std::size_t>(id.index)], step_.parents);
}

void PooledState::store(Context& context, RowStateId id, const Tensor& latest) {
  const Tensor& states = row_states_[static_cast<std::size_t>(id.index)];
  tensor::require_shape(latest, static_cast<std::int64_t>(rows_.size()), states.cols, "the row state");
  context.kernels().get(ops::kScale)(context, {latest, 1.0, states.row_range(0, latest.rows), false});
}

}  // namespace dragoman::nn
