#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/nn/alignment.h>
#include <dragoman/nn/decoder_state.h>
#include <dragoman/nn/row_pool.h>
#include <dragoman/nn/row_ref.h>
#include <dragoman/ops/attention.h>

namespace dragoman::nn {

/// The state of stepping, for decoding loops. Sentences can be admitted and released at any time. Each step extends any
/// set of hypotheses of the admitted sentences by one or more tokens.
///
///     Decoding first_step(Context& context, const Seq2SeqModel& model, const RaggedTokens& source,
///                         const RaggedTokens& next, PooledState& state) {
///       std::vector<std::int32_t> slots(source.offsets.size() - 1);
///       state.admit(context, source.offsets, slots);
///       state.store_memories(context, model.memories(context, model.encode(context, source)));
///       std::vector<RowRef> rows;
///       for (const std::int32_t slot : slots) rows.push_back({.slot = slot});
///       state.set_rows(rows);
///       return model.decode(context, next, state);
///     }
///
/// Belongs to one thread. The context's device memory must outlive it.
///
/// Keys and values are kept in the context's float type if weights are multiplied in fp32. Otherwise they are rounded
/// to fp16 or bf16 (docs/concepts/numerics.md). Memory comes from the context's device and is reused, so the steps of a
/// warm pool do not allocate.
class PooledState final : public DecoderState {
 public:
  /// Creates an empty pool for models of this layout. `type` is the type that the decoder's weights are multiplied in.
  PooledState(const Context& context, const StateLayout& layout, tensor::ComputeType type = tensor::ComputeType::kF32);

  // --- sentences ---

  /// Admits B sentences and writes their slots. Call store_memories() next.
  void admit(Context& context, std::span<const std::int32_t> source_offsets, std::span<std::int32_t> slots);
  /// Copies the memories of the sentences that were admitted last, [T_source, width] each.
  void store_memories(Context& context, std::span<const KeyValue> memories);
  /// Frees a sentence and all its hypotheses. Error{kInvalidArgument} if the slot holds no sentence.
  void release(std::int32_t slot);
  /// The number of source tokens of the sentence in a slot.
  std::int32_t source_length(std::int32_t slot) const;

  // --- steps ---

  /// Sets the rows of the next decode() call, which checks them. Each row must name a slot that holds a sentence, and
  /// continue a row of the last step with the same slot. Otherwise decode() throws Error{kInvalidArgument}.
  ///
  /// The last `padding` rows only give the step the shape of another one: no later row can continue them, and their
  /// keys and values take no memory after the step.
  void set_rows(std::span<const RowRef> rows, std::int64_t padding = 0);
  /// The number of tokens in the history of row r of the last step.
  std::int32_t history_length(std::int64_t row) const;

  /// Makes later decode() calls keep the attention that `heads` selects.
  void request_alignment(const AlignmentHeads& heads) { attention_.request(heads); }
  /// After decode(): returns the weights of new token t (row of the result) over its source positions. Waits for the
  /// device.
  std::vector<float> alignment(std::int64_t token);
  /// The weights that alignment() reads; empty if none were requested. The body of a recorded step returns them in its
  /// result. After a replay, the caller restores them with keep_attention().
  const Tensor& kept_attention() const noexcept { return attention_.weights(); }
  void keep_attention(const Tensor& weights) noexcept { attention_.keep(weights); }

  // --- keys of recorded steps ---

  /// A number that changes whenever histories, memories or row states move.
  std::int64_t generation() const noexcept {
    return std::max({history_.generation(), memory_.generation(), row_state_generation_});
  }
  /// The longest history of this step, rounded up to buckets.
  std::int64_t longest_history() const noexcept { return step_.ancestors.longest; }
  /// The longest source of this step, rounded up to buckets.
  std::int64_t longest_source() const noexcept { return step_.sources.longest; }

  // --- memory ---

  /// The size in bytes of a number of elements of keys or values.
  std::size_t bytes_of(std::int64_t elements) const noexcept;
  /// The size in bytes of all keys and values in the pool.
  std::size_t bytes_in_use() const noexcept { return history_.bytes_in_use() + memory_.bytes_in_use(); }

  // --- called by Seq2SeqModel::prepare_target() ---

  void begin_step(Context& context, const tensor::RaggedTokens& next) override;
  /// The row of the last step that each row continues, as kernels read it. On devices that cannot read host memory,
  /// kernels may change it between begin_step() and complete_step().
  const ops::DeviceIndices& parents() const noexcept { return step_.parents; }
  /// Lists each row's ancestors, on devices that do this themselves.
  void complete_step(Context& context) override;

 private:
  struct Slot {
    bool live = false;
    std::int32_t source_rows = 0;
    std::vector<std::int32_t> memory_pages;
    std::vector<std::int32_t> pages;  ///< pages of the history
    std::int32_t rows_used = 0;       ///< rows in use in `pages`
    std::int32_t memory_begin = -1;   ///< start of its entries in sources_.rows in this step
  };
  /// The pool rows that each new token attends to.
  struct KeyLists {
    std::vector<std::int32_t> rows;
    std::vector<ops::KeyRange> ranges;
    std::int32_t longest = 0;
  };
  /// KeyLists in the form that kernels read.
  struct DeviceKeyLists {
    ops::DeviceIndices rows;
    ops::DeviceArray<ops::KeyRange> ranges;
    std::int32_t longest = 0;
  };
  /// The structure of a step, as kernels read it. The last two members are used on devices that list ancestors
  /// themselves.
  struct DeviceStep {
    ops::DeviceIndices admitted;  ///< rows of the memories that are stored next
    ops::DeviceIndices parents;
    ops::DeviceIndices new_rows;
    DeviceKeyLists ancestors;
    DeviceKeyLists sources;
    ops::DeviceIndices previous_ancestor_offsets;
    ops::DeviceIndices ancestor_offsets;
  };

  Variable attend_history(Context& context, HistoryId id, const Variable& q, const Variable& k, const Variable& v,
                          int heads, double dropout, double scale, const Variable& bias) override;
  Variable attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double dropout,
                         double scale) override;
  Tensor previous(Context& context, RowStateId id) const override;
  void store(Context& context, RowStateId id, const Tensor& latest) override;

  std::int32_t append_history_row(Slot& slot);
  std::int32_t free_slot();
  bool is_live(std::int32_t slot) const;
  void check_step(const tensor::RaggedTokens& next) const;
  void append_histories(const tensor::RaggedTokens& next);
  void append_history(std::size_t row, const tensor::RaggedTokens& next, Slot& to);
  void list_memories(const tensor::RaggedTokens& next);
  void make_room_for_row_states();
  static DeviceKeyLists upload(Context& context, const KeyLists& lists);
  void upload_ancestors(Context& context);
  /// Keys are tensor `first` of the pool, values the next one.
  Variable attend_cached(Context& context, const Variable& q, const RowPool& pool, int first,
                         const DeviceKeyLists& lists, int heads, double scale, const Tensor& bias, bool keep_weights);

  StateLayout layout_;
  tensor::DeviceMemory* device_memory_;
  tensor::DType kept_type_;  ///< type of keys and values
  // The keys of an id are tensor 2 * index of the pool, the values the next one.
  RowPool history_;
  RowPool memory_;
  std::vector<Slot> slots_;
  std::vector<RowRef> rows_;
  std::vector<RowRef> previous_rows_;
  std::int64_t padding_ = 0;           ///< the last of rows_
  std::int64_t previous_padding_ = 0;  ///< the last of previous_rows_
  std::vector<std::int32_t> host_positions_;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> new_rows_;
  /// The history rows of row r's ancestors are [ancestor_offsets_[r], ancestor_offsets_[r + 1]) of ancestors_.rows. The
  /// previous_ members describe the previous step in the same form. A device with separate memory lists ancestors
  /// itself, because the row's parent may be known only to the device. Then one of two buffers holds the lists of the
  /// last step.
  bool lists_on_device_;
  std::array<tensor::Buffer, 2> kept_lists_;
  KeyLists ancestors_;
  std::vector<std::int32_t> ancestor_offsets_{0};
  std::vector<std::int32_t> previous_ancestors_;
  std::vector<std::int32_t> previous_ancestor_offsets_;
  KeyLists sources_;
  std::vector<tensor::Buffer> row_state_buffers_;
  std::int64_t row_state_generation_ = 0;
  std::vector<Tensor> row_states_;
  DeviceStep step_;
  KeptAttention attention_;
};

}  // namespace dragoman::nn
