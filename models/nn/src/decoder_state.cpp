#include "dragoman/nn/decoder_state.h"

#include <algorithm>
#include <cstring>

#include <dragoman/core/error.h>

namespace dragoman::nn {
namespace {

/// 16 tokens a page: at most 15 rows wasted per sentence, and a page of a 512-wide layer (K and V) is 64 KiB.
constexpr int kPageShift = 4;
constexpr std::int32_t kPageRows = 1 << kPageShift;
/// A memory is one block of any number of rows, so that "page 0" holds them all.
constexpr int kMemoryShift = 31;

std::size_t row_bytes(std::int64_t width, tensor::DType dtype) {
  return static_cast<std::size_t>(width) * tensor::size_of(dtype);
}

std::size_t total_row_bytes(const std::vector<std::int64_t>& widths, tensor::DType dtype) {
  std::size_t total = 0;
  for (const std::int64_t width : widths) total += 2 * row_bytes(width, dtype);
  return total;
}

void copy_rows(const Tensor& from, std::int64_t begin, std::int64_t count, char* to) {
  const std::size_t bytes = row_bytes(from.cols, from.dtype);
  for (std::int64_t i = 0; i < count; ++i, to += bytes)
    std::memcpy(to,
                static_cast<const char*>(from.data) +
                    static_cast<std::size_t>((begin + i) * from.stride) * tensor::size_of(from.dtype),
                bytes);
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

DecoderState DecoderState::whole(std::span<const KeyValue> memories, const ops::Offsets& source_offsets) {
  DecoderState state;
  state.whole_ = true;
  state.memories_ = memories;
  state.source_offsets_ = source_offsets;
  return state;
}

DecoderState::DecoderState(const Context& context, const StateLayout& layout)
    : layout_(layout),
      device_memory_(&context.memory()),
      dtype_(context.float_type()),
      pages_(layout.histories().size()),
      row_states_(layout.row_states().size()),
      row_state_capacity_(layout.row_states().size(), 0) {}

std::int32_t DecoderState::free_slot() {
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (!slots_[i].live) return static_cast<std::int32_t>(i);
  slots_.emplace_back();
  return static_cast<std::int32_t>(slots_.size()) - 1;
}

void DecoderState::copy_memory(Slot& slot, std::span<const KeyValue> memories, std::int64_t begin) {
  const std::size_t bytes = total_row_bytes(layout_.memories(), dtype_) * static_cast<std::size_t>(slot.source_rows);
  if (slot.memory.size() < bytes) slot.memory = tensor::Buffer(*device_memory_, bytes + bytes / 2);
  slot.memory_keys.resize(memories.size());
  slot.memory_values.resize(memories.size());
  char* place = static_cast<char*>(slot.memory.data());
  for (std::size_t m = 0; m < memories.size(); ++m) {
    const std::size_t size = row_bytes(layout_.memories()[m], dtype_) * static_cast<std::size_t>(slot.source_rows);
    slot.memory_keys[m] = place;
    copy_rows(memories[m].keys.value, begin, slot.source_rows, place);
    slot.memory_values[m] = place + size;
    copy_rows(memories[m].values.value, begin, slot.source_rows, place + size);
    place += 2 * size;
  }
  bytes_in_use_ += bytes;
}

void DecoderState::admit(std::span<const KeyValue> memories, const ops::Offsets& source_offsets,
                         std::span<std::int32_t> slots) {
  core::require(!whole_, core::ErrorCode::kInvalidArgument, "a state for whole targets admits no sentences");
  core::require(memories.size() == layout_.memories().size(), core::ErrorCode::kInvalidArgument,
                "{} memories for a layout of {}", memories.size(), layout_.memories().size());
  core::require(static_cast<std::int64_t>(slots.size()) + 1 == source_offsets.size(), core::ErrorCode::kInvalidArgument,
                "{} slots for {} sentences", slots.size(), source_offsets.size() - 1);
  for (std::size_t b = 0; b < slots.size(); ++b) {
    slots[b] = free_slot();
    Slot& slot = slots_[static_cast<std::size_t>(slots[b])];
    slot.live = true;
    slot.rows_used = 0;
    slot.source_rows = source_offsets.host[b + 1] - source_offsets.host[b];
    copy_memory(slot, memories, source_offsets.host[b]);
  }
}

void DecoderState::release(std::int32_t slot_number) {
  Slot& slot = slots_[static_cast<std::size_t>(slot_number)];
  core::require(slot.live, core::ErrorCode::kInvalidArgument, "slot {} is released twice", slot_number);
  const std::size_t history_bytes = total_row_bytes(layout_.histories(), dtype_);
  bytes_in_use_ -= slot.pages.size() * history_bytes * kPageRows +
                   total_row_bytes(layout_.memories(), dtype_) * static_cast<std::size_t>(slot.source_rows);
  free_pages_.insert(free_pages_.end(), slot.pages.begin(), slot.pages.end());
  slot.pages.clear();
  slot.live = false;
}

void DecoderState::set_rows(std::span<const RowRef> rows) {
  previous_rows_ = static_cast<std::int64_t>(rows_.size());
  rows_.assign(rows.begin(), rows.end());
}

std::int32_t DecoderState::history_length(std::int64_t row) const {
  return static_cast<std::int32_t>(ancestors_[static_cast<std::size_t>(row)].size());
}

std::int32_t DecoderState::source_length(std::int32_t slot) const {
  return slots_[static_cast<std::size_t>(slot)].source_rows;
}

std::int32_t DecoderState::take_page() {
  if (!free_pages_.empty()) {
    const std::int32_t page = free_pages_.back();
    free_pages_.pop_back();
    return page;
  }
  // release() cleans up after errors, so it must find room for every page.
  if (free_pages_.capacity() <= page_blocks_.size()) free_pages_.reserve(2 * page_blocks_.size() + 1);
  const std::size_t bytes = total_row_bytes(layout_.histories(), dtype_) * kPageRows;
  char* place = static_cast<char*>(page_blocks_.emplace_back(*device_memory_, bytes).data());
  for (std::size_t h = 0; h < pages_.size(); ++h) {
    const std::size_t size = row_bytes(layout_.histories()[h], dtype_) * kPageRows;
    pages_[h].keys.push_back(place);
    pages_[h].values.push_back(place + size);
    place += 2 * size;
  }
  return static_cast<std::int32_t>(page_blocks_.size()) - 1;
}

std::int32_t DecoderState::append_history_row(Slot& slot) {
  const std::int32_t within = slot.rows_used % kPageRows;
  if (within == 0) {
    slot.pages.push_back(take_page());
    bytes_in_use_ += total_row_bytes(layout_.histories(), dtype_) * kPageRows;
  }
  ++slot.rows_used;
  return slot.pages.back() * kPageRows + within;
}

void DecoderState::begin_step(Context& context, const tensor::RaggedTokens& next) {
  static_cast<void>(context);
  row_offsets_ = {next.offsets, next.offsets.data()};
  positions_.resize(next.tokens.size());
  alignment_weights_ = {};
  if (whole_) {
    core::require(next.offsets.size() == source_offsets_.host.size(), core::ErrorCode::kInvalidArgument,
                  "{} targets for {} source sentences", next.batch(), source_offsets_.size() - 1);
    for (std::int64_t b = 0; b < next.batch(); ++b)
      for (std::int32_t i = 0; i < next.length(b); ++i) positions_[static_cast<std::size_t>(next.offsets[b] + i)] = i;
    return;
  }
  core::require(next.offsets.size() == rows_.size() + 1, core::ErrorCode::kInvalidArgument,
                "{} token sequences for {} rows", next.batch(), rows_.size());
  next_ancestors_.resize(std::max(next_ancestors_.size(), rows_.size()));
  new_rows_.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const RowRef& row = rows_[r];
    core::require(row.parent < previous_rows_ && slots_[static_cast<std::size_t>(row.slot)].live,
                  core::ErrorCode::kInvalidArgument, "row {} continues row {} of {} in slot {}", r, row.parent,
                  previous_rows_, row.slot);
    std::vector<std::int32_t>& list = next_ancestors_[r];
    list.clear();
    if (row.parent >= 0) {
      const auto& parent = ancestors_[static_cast<std::size_t>(row.parent)];
      list.assign(parent.begin(), parent.end());
    }
    for (std::int32_t i = next.offsets[r]; i < next.offsets[r + 1]; ++i) {
      positions_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(list.size());
      list.push_back(append_history_row(slots_[static_cast<std::size_t>(row.slot)]));
      new_rows_.push_back(list.back());
    }
  }
  std::swap(ancestors_, next_ancestors_);
}

void DecoderState::store_history(const Tensor& rows, const std::vector<void*>& pages) const {
  const std::size_t bytes = row_bytes(rows.cols, rows.dtype);
  for (std::size_t t = 0; t < new_rows_.size(); ++t) {
    char* page = static_cast<char*>(pages[static_cast<std::size_t>(new_rows_[t] >> kPageShift)]);
    copy_rows(rows, static_cast<std::int64_t>(t), 1,
              page + static_cast<std::size_t>(new_rows_[t] & (kPageRows - 1)) * bytes);
  }
}

Variable DecoderState::attend_cached(Context& context, const Variable& q, std::span<const ops::KeyRows> rows,
                                     int page_shift, int heads, bool keep_weights) {
  std::int32_t longest = 0;
  for (const ops::KeyRows& row : rows) longest = std::max(longest, row.count);
  const Tensor weights =
      keep_weights ? context.allocate(q.value.rows, static_cast<std::int64_t>(heads) * longest) : Tensor{};
  const Tensor y = context.allocate(q.value.rows, q.value.cols);
  context.kernels().get(ops::kCachedAttention)(context, {q.value, rows, page_shift, q.value.cols, heads, weights, y});
  if (keep_weights) alignment_weights_ = weights;
  return {y, nullptr};
}

Variable DecoderState::attend_history(Context& context, HistoryId id, const Variable& q, const Variable& k,
                                      const Variable& v, int heads, double dropout) {
  if (whole_)
    return ops::attention(context, q, k, v, row_offsets_, row_offsets_,
                          {.heads = heads, .causal = true, .dropout = dropout})
        .output;
  const HistoryPages& pages = pages_[static_cast<std::size_t>(id.index)];
  store_history(k.value, pages.keys);
  store_history(v.value, pages.values);
  key_rows_.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::vector<std::int32_t>& list = ancestors_[r];
    const std::int32_t added = row_offsets_.host[r + 1] - row_offsets_.host[r];
    for (std::int32_t i = 0; i < added; ++i)
      key_rows_.push_back({pages.keys.data(), pages.values.data(), list.data(), 0,
                           static_cast<std::int32_t>(list.size()) - added + i + 1});
  }
  return attend_cached(context, q, key_rows_, kPageShift, heads, false);
}

Variable DecoderState::attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double dropout) {
  alignment_total_heads_ = keeps(id) ? heads : alignment_total_heads_;
  if (whole_) {
    const KeyValue& memory = memories_[static_cast<std::size_t>(id.index)];
    const ops::AttentionResult result =
        ops::attention(context, q, memory.keys, memory.values, row_offsets_, source_offsets_,
                       {.heads = heads, .dropout = dropout}, keeps(id));
    if (keeps(id)) {
      alignment_weights_ = result.probabilities;
      alignment_offsets_ = result.probability_offsets;
    }
    return result.output;
  }
  key_rows_.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const Slot& slot = slots_[static_cast<std::size_t>(rows_[r].slot)];
    const auto m = static_cast<std::size_t>(id.index);
    for (std::int32_t i = row_offsets_.host[r]; i < row_offsets_.host[r + 1]; ++i)
      key_rows_.push_back({&slot.memory_keys[m], &slot.memory_values[m], nullptr, 0, slot.source_rows});
  }
  return attend_cached(context, q, key_rows_, kMemoryShift, heads, keeps(id));
}

std::vector<float> DecoderState::alignment(std::int64_t token) const {
  core::require(!alignment_weights_.empty(), core::ErrorCode::kInvalidArgument,
                "no alignment was kept: request_alignment() before decode()");
  const auto after =
      std::upper_bound(row_offsets_.host.begin(), row_offsets_.host.end(), static_cast<std::int32_t>(token));
  const auto row = static_cast<std::size_t>(after - row_offsets_.host.begin()) - 1;
  const std::int64_t queries = row_offsets_.host[row + 1] - row_offsets_.host[row];
  const std::int64_t keys =
      whole_ ? source_offsets_.host[row + 1] - source_offsets_.host[row] : source_length(rows_[row].slot);
  const int heads = std::min(alignment_request_.heads, alignment_total_heads_);
  std::vector<float> mean(static_cast<std::size_t>(keys), 0.0F);
  for (int head = 0; head < heads; ++head) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const double weight =
          whole_
              ? tensor::element(alignment_weights_, 0,
                                alignment_offsets_[row] + (head * queries + token - row_offsets_.host[row]) * keys + j)
              : tensor::element(alignment_weights_, token, head * keys + j);
      mean[static_cast<std::size_t>(j)] += static_cast<float>(weight / heads);
    }
  }
  return mean;
}

Tensor DecoderState::previous(Context& context, RowStateId id) const {
  if (whole_) return {};
  const auto index = static_cast<std::size_t>(id.index);
  const std::int64_t width = layout_.row_states()[index];
  const Tensor gathered = context.allocate(static_cast<std::int64_t>(rows_.size()), width);
  const std::size_t bytes = row_bytes(width, dtype_);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    char* to = static_cast<char*>(gathered.data) + r * bytes;
    if (rows_[r].parent < 0)
      std::memset(to, 0, bytes);
    else
      std::memcpy(
          to, static_cast<const char*>(row_states_[index].data()) + static_cast<std::size_t>(rows_[r].parent) * bytes,
          bytes);
  }
  return gathered;
}

void DecoderState::store(RowStateId id, const Tensor& latest) {
  if (whole_) return;
  const auto index = static_cast<std::size_t>(id.index);
  tensor::require_shape(latest, static_cast<std::int64_t>(rows_.size()), layout_.row_states()[index], "the row state");
  if (row_state_capacity_[index] < latest.rows) {
    row_state_capacity_[index] = 2 * latest.rows;
    row_states_[index] =
        tensor::Buffer(*device_memory_, row_bytes(latest.cols, dtype_) * static_cast<std::size_t>(2 * latest.rows));
  }
  copy_rows(latest, 0, latest.rows, static_cast<char*>(row_states_[index].data()));
}

}  // namespace dragoman::nn
