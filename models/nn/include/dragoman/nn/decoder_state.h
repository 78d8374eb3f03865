#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/nn/row_pool.h>
#include <dragoman/ops/alignment_loss.h>
#include <dragoman/ops/attention.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/tensor/ragged.h>

namespace dragoman::nn {

/// Handles of what a model keeps between decoding steps. A model's layers draw them from its StateLayout when they are
/// constructed.
struct HistoryId {
  int index;
};
struct MemoryId {
  int index;
};
struct RowStateId {
  int index;
};

/// What a decoder keeps, without the data: the widths of
///  - histories: keys and values of self-attention, one row per token, append-only; every hypothesis reads its own
///    ancestors, so reordering beams copies indices and never keys or values;
///  - memories: keys and values of cross-attention, made once per sentence and shared by its hypotheses;
///  - row states: one row per hypothesis (a recurrent cell), gathered by parent at each step.
class StateLayout {
 public:
  HistoryId add_history(std::int64_t width);
  MemoryId add_memory(std::int64_t width);
  RowStateId add_row_state(std::int64_t width);
  const std::vector<std::int64_t>& histories() const noexcept { return histories_; }
  const std::vector<std::int64_t>& memories() const noexcept { return memories_; }
  const std::vector<std::int64_t>& row_states() const noexcept { return row_states_; }

 private:
  std::vector<std::int64_t> histories_;
  std::vector<std::int64_t> memories_;
  std::vector<std::int64_t> row_states_;
};

struct KeyValue {
  Variable keys;
  Variable values;
};

/// One row of a step: the next tokens of one hypothesis of the sentence in `slot`. `parent` is the row of the last step
/// that it continues, or -1 if its history is empty. Of a row that is chosen on the device (ops::choose_next) it is any
/// row of the sentence, all of which then have as many tokens behind them.
struct RowRef {
  std::int32_t slot = 0;
  std::int32_t parent = -1;
};

/// Which attention to report as an alignment: the mean of the first `heads` heads of one cross-attention.
struct AlignmentHeads {
  MemoryId memory{-1};
  int heads = 1;
};

/// Which attention to pull to a goal while a model is trained, and where to store what it costs: `losses`, F64 [1, new
/// tokens], whose memory outlives the decode() call. The goal's heads are the first of that attention.
struct AttentionGuide {
  MemoryId memory{-1};
  ops::AlignmentGoal goal{};
  Tensor losses{};
};

/// All that a decoder remembers between calls; the same decoder code runs on two kinds of it:
///  - whole(): teacher forcing. One row per sentence, whole targets in one call, gradients flow through memories and
///    histories.
///  - the pooled state: admits and releases sentences at any time, and each step continues any set of hypotheses of the
///    admitted sentences by one or more tokens. No gradients.
/// Keys and values are kept in the context's float type where weights are multiplied in fp32, else rounded to fp16 or
/// bf16 (docs/numerics.md), by both kinds, so that both give the same. Belongs to one thread. Memory comes from the
/// context's device and is recycled, so steps of a warm pool do not allocate.
class DecoderState {
 public:
  /// Teacher forcing on a batch. `memories` (one per MemoryId) and `source_offsets` (B + 1) must outlive the state.
  static DecoderState whole(std::span<const KeyValue> memories, const ops::Offsets& source_offsets,
                            tensor::ComputeType type = tensor::ComputeType::kF32);
  /// The memories of a whole() state that was made before there were any.
  void set_memories(std::span<const KeyValue> memories) noexcept { memories_ = memories; }
  /// An empty pool for models of this layout.
  DecoderState(const Context& context, const StateLayout& layout, tensor::ComputeType type = tensor::ComputeType::kF32);

  // --- for decoding loops (pooled state) ---

  /// Admits B sentences; writes their slots. Their memories are stored next.
  void admit(Context& context, std::span<const std::int32_t> source_offsets, std::span<std::int32_t> slots);
  /// Copies the memories of the sentences that were admitted last, [T_source, width] each.
  void store_memories(Context& context, std::span<const KeyValue> memories);
  /// Frees a sentence and all its hypotheses.
  void release(std::int32_t slot);
  /// Names the rows of the next decode() call, which checks them: each continues a row of the last step that had the
  /// same slot, in a slot that is live. Else it throws Error{kInvalidArgument}.
  void set_rows(std::span<const RowRef> rows);
  /// Bytes of so many elements of keys or values.
  std::size_t bytes_of(std::int64_t elements) const noexcept;
  /// Bytes of keys and values held for live sentences.
  std::size_t bytes_in_use() const noexcept { return history_.bytes_in_use() + memory_.bytes_in_use(); }
  /// Tokens that row r of the last step has behind it.
  std::int32_t history_length(std::int64_t row) const;
  std::int32_t source_length(std::int32_t slot) const;

  /// From now on, decode() keeps the attention that `heads` names.
  void request_alignment(const AlignmentHeads& heads) { alignment_request_ = heads; }
  /// After decode(): weights over the source positions for new token t (row of the result), as requested. Waits for the
  /// device.
  std::vector<float> alignment(std::int64_t token);
  /// What alignment() reads; empty if nothing was requested. A body that is replayed leaves it in its result, and the
  /// state is told again.
  const Tensor& kept_attention() const noexcept { return alignment_weights_; }
  void keep_attention(const Tensor& weights) noexcept { alignment_weights_ = weights; }

  /// The next decode() call computes what `guide` asks for. Of a whole() state.
  void guide_attention(const AttentionGuide& guide) {
    guide_ = guide;
    guided_ = false;
  }
  /// Whether it has: not if the layer that has that attention was left out.
  bool guided() const noexcept { return guided_; }
  const Tensor& alignment_losses() const noexcept { return guide_.losses; }

  /// Another one whenever histories, memories or row states have moved: part of the key of a step.
  std::int64_t generation() const noexcept {
    return std::max({history_.generation(), memory_.generation(), row_state_generation_});
  }
  /// The longest lists of keys of this step, in buckets: part of the key, too.
  std::int64_t longest_history() const noexcept { return step_.ancestors.longest; }
  std::int64_t longest_source() const noexcept { return step_.sources.longest; }

  // --- for Seq2SeqModel ---

  /// Checks `next` against the rows, before anything changes, and makes room: row r gets next.sequence(r), of at least
  /// one token, appended to its history.
  void begin_step(Context& context, const tensor::RaggedTokens& next);
  /// Where kernels read which row of the last step each row continues: may be changed between begin_step() and
  /// complete_step(), on devices that cannot read the host's memory.
  const ops::DeviceIndices& parents() const noexcept { return step_.parents; }
  /// The last of the preparation: lists each row's ancestors where that is the device's work.
  void complete_step(Context& context);

  // --- for layers, within decode() ---

  /// Position of each new token in its hypothesis, from 0. [T]
  const ops::Indices& positions() const noexcept { return step_.positions; }
  /// Boundaries of the rows among the new tokens. [rows + 1]
  const ops::Offsets& row_offsets() const noexcept { return step_.row_offsets; }
  /// Causal self-attention: the new tokens' k and v [T, width] join the history, q [T, width] attends to it. `scale` is
  /// that of ops::AttentionOptions, `bias` (may be empty) one by distance as ops::bias_reach() has it.
  Variable attend_history(Context& context, HistoryId id, const Variable& q, const Variable& k, const Variable& v,
                          int heads, double dropout, double scale = 0, const Variable& bias = {});
  /// Cross-attention of q [T, width] to the sentence's memory.
  Variable attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double dropout, double scale = 0);
  /// The row state of each row's parent, [rows, width] in step memory, zeros for a fresh row; empty for a whole()
  /// state.
  Tensor previous(Context& context, RowStateId id) const;
  /// Keeps [rows, width] for the next step; nothing to do for a whole() state.
  void store(Context& context, RowStateId id, const Tensor& latest);

 private:
  struct Slot {
    bool live = false;
    std::int32_t source_rows = 0;
    std::vector<std::int32_t> memory_pages;
    std::vector<std::int32_t> pages;  ///< of the history
    std::int32_t rows_used = 0;       ///< of those
    std::int32_t memory_begin = -1;   ///< of its entries in sources_.rows in this step
  };
  /// Which rows of a pool each new token attends to.
  struct KeyLists {
    std::vector<std::int32_t> rows;
    std::vector<ops::KeyRange> ranges;
    std::int32_t longest = 0;
  };
  /// The same as kernels read it.
  struct DeviceKeyLists {
    ops::DeviceIndices rows;
    ops::DeviceArray<ops::KeyRange> ranges;
    std::int32_t longest = 0;
  };
  /// What kernels read of a step's structure. The last two are of devices that list ancestors.
  struct DeviceStep {
    ops::Indices positions;
    ops::Offsets row_offsets;
    ops::DeviceIndices admitted;  ///< rows of the memories that are stored next
    ops::DeviceIndices parents;
    ops::DeviceIndices new_rows;
    DeviceKeyLists ancestors;
    DeviceKeyLists sources;
    ops::DeviceIndices previous_ancestor_offsets;
    ops::DeviceIndices ancestor_offsets;
  };

  DecoderState() = default;
  std::int32_t append_history_row(Slot& slot);
  std::int32_t free_slot();
  bool is_live(std::int32_t slot) const;
  void check_step(const tensor::RaggedTokens& next) const;
  void begin_whole_step(const tensor::RaggedTokens& next);
  /// As they will be read; of a whole() state.
  const Variable& kept(Context& context, const Variable& keys_or_values) const;
  void append_histories(const tensor::RaggedTokens& next);
  void list_memories(const tensor::RaggedTokens& next);
  void make_room_for_row_states();
  static DeviceKeyLists upload(Context& context, const KeyLists& lists);
  void upload_ancestors(Context& context);
  /// Keys are tensor `first` of the pool, values the next one.
  Variable attend_cached(Context& context, const Variable& q, const RowPool& pool, int first,
                         const DeviceKeyLists& lists, int heads, double scale, const Tensor& bias, bool keep_weights);
  Variable attend_whole_memory(Context& context, MemoryId id, const Variable& q, const ops::AttentionOptions& options);
  bool keeps(MemoryId id) const noexcept { return alignment_request_.memory.index == id.index; }

  bool whole_ = false;
  StateLayout layout_;
  tensor::DeviceMemory* device_memory_ = nullptr;

  // whole()
  std::span<const KeyValue> memories_;
  ops::Offsets source_offsets_;

  /// Of keys and values; of a whole() state F32 stands for floats as they are.
  tensor::DType kept_type_ = tensor::DType::kF32;

  // pooled
  // keys of an id are tensor 2 * index of the pool, values the next one
  RowPool history_;
  RowPool memory_;
  std::vector<Slot> slots_;
  std::vector<RowRef> rows_;
  std::vector<RowRef> previous_rows_;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> new_rows_;
  /// Row r's ancestors in the history are [ancestor_offsets_[r], ancestor_offsets_[r + 1]) of ancestors_.rows; and
  /// those of the step before. Where the device has a memory of its own it lists them itself: only it may know which
  /// row a row continues. The lists of the last step are kept in one of two buffers.
  bool lists_on_device_ = false;
  std::array<tensor::Buffer, 2> kept_lists_;
  KeyLists ancestors_;
  std::vector<std::int32_t> ancestor_offsets_{0};
  std::vector<std::int32_t> previous_ancestors_;
  std::vector<std::int32_t> previous_ancestor_offsets_;
  KeyLists sources_;
  std::vector<tensor::Buffer> row_state_buffers_;
  std::int64_t row_state_generation_ = 0;
  std::vector<Tensor> row_states_;

  // both
  std::vector<std::int32_t> positions_;
  DeviceStep step_;
  AlignmentHeads alignment_request_;
  AttentionGuide guide_;
  bool guided_ = false;
  Tensor alignment_weights_;
  std::optional<tensor::HostView> alignment_on_host_;
  int alignment_total_heads_ = 1;
};

}  // namespace dragoman::nn
