#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/ops/types.h>
#include <dragoman/tensor/ragged.h>

namespace dragoman::nn {

class Seq2SeqModel;

/// Handles of the entries in a StateLayout.
struct HistoryId {
  int index;
};
struct MemoryId {
  int index;
};
struct RowStateId {
  int index;
};

/// The entries that a model keeps between decoding steps, with their widths. Layers add them in their constructors:
///
/// - histories: keys and values of self-attention, one row per token, append-only. Every hypothesis reads its own
///   ancestors, so reordering beams copies indices and never keys or values.
/// - memories: keys and values of cross-attention, computed once per sentence and shared by its hypotheses.
/// - row states: one row per hypothesis (a recurrent cell), gathered by parent at each step.
///
///     class Layer {
///      public:
///       Layer(StateLayout& layout, std::int64_t width) : history_(layout.add_history(width)) {}
///       Variable operator()(Context& context, const Variable& x, DecoderState& state) const {
///         return state.attend_history(context, history_, x, x, x, /*heads=*/8, /*dropout=*/0);
///       }
///
///      private:
///       HistoryId history_;
///     };
///
/// Built by one thread and read-only afterwards.
class StateLayout {
 public:
  /// Adds a history with keys and values of this width.
  HistoryId add_history(std::int64_t width);
  /// Adds a memory with keys and values of this width.
  MemoryId add_memory(std::int64_t width);
  /// Adds a row state of this width.
  RowStateId add_row_state(std::int64_t width);
  const std::vector<std::int64_t>& histories() const noexcept { return histories_; }
  const std::vector<std::int64_t>& memories() const noexcept { return memories_; }
  const std::vector<std::int64_t>& row_states() const noexcept { return row_states_; }

 private:
  std::vector<std::int64_t> histories_;
  std::vector<std::int64_t> memories_;
  std::vector<std::int64_t> row_states_;
};

/// Keys and values of one attention, both [T, width].
struct KeyValue {
  Variable keys;
  Variable values;
};

/// The state of a decoder as layers use it within decode(). A row is the sequence of next tokens of one hypothesis.
/// Layers run unchanged on both implementations:
///
/// - WholeState: teacher forcing. One row per sentence, whole targets in one call, with gradients.
/// - PooledState: stepping. Each call extends any set of hypotheses by one or more tokens, without gradients.
///
/// Belongs to one thread.
class DecoderState {
 public:
  DecoderState(const DecoderState&) = delete;
  DecoderState& operator=(const DecoderState&) = delete;
  virtual ~DecoderState();

  /// The position of each new token in its hypothesis, counted from 0. [T]
  const ops::Indices& positions() const noexcept { return positions_; }
  /// The boundaries of the rows among the new tokens. [rows + 1]
  const ops::Offsets& row_offsets() const noexcept { return row_offsets_; }
  /// Causal self-attention: appends the new tokens' k and v [T, width] to the history, and attends from q [T, width] to
  /// it. For `scale` see ops::AttentionOptions. `bias` may be empty; it is a bias by distance, see ops::bias_reach().
  virtual Variable attend_history(Context& context, HistoryId id, const Variable& q, const Variable& k,
                                  const Variable& v, int heads, double dropout, double scale = 0,
                                  const Variable& bias = {}) = 0;
  /// Cross-attention from q [T, width] to the memory of each row's sentence.
  virtual Variable attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double dropout,
                                 double scale = 0) = 0;
  /// Returns the row state of each row's parent, [rows, width] in step memory; zeros for a fresh row. Empty for a
  /// WholeState.
  virtual Tensor previous(Context& context, RowStateId id) const = 0;
  /// Keeps `latest` [rows, width] for the next step. A WholeState keeps nothing.
  virtual void store(Context& context, RowStateId id, const Tensor& latest) = 0;

 protected:
  friend class Seq2SeqModel;

  DecoderState() = default;
  /// Checks `next` before changing anything, and then makes room for it. next.sequence(r) is appended to row r. Sets
  /// positions and row offsets.
  virtual void begin_step(Context& context, const tensor::RaggedTokens& next) = 0;
  /// Finishes the preparation of a step.
  virtual void complete_step(Context& context) { static_cast<void>(context); }

  ops::Indices positions_;
  ops::Offsets row_offsets_;
};

}  // namespace dragoman::nn
