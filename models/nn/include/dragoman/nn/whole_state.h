#pragma once

#include <span>
#include <vector>

#include <dragoman/nn/alignment.h>
#include <dragoman/nn/decoder_state.h>
#include <dragoman/ops/alignment_loss.h>
#include <dragoman/ops/attention.h>

namespace dragoman::nn {

/// Guides one attention to a goal during training. `losses` receives the losses: F64 [1, new tokens], in memory that
/// outlives the decode() call. The goal applies to the first heads of the attention.
struct AttentionGuide {
  MemoryId memory{-1};
  ops::AlignmentGoal goal{};
  Tensor losses{};
};

/// The state of teacher forcing: one row per sentence, whole targets in one decode() call. Gradients flow through
/// memories and histories, so the state must live until the backward pass is over. Belongs to one thread. The example
/// of Seq2SeqModel shows its use.
class WholeState final : public DecoderState {
 public:
  /// `memories` (one for each MemoryId) and `source_offsets` (B + 1) must outlive the state. `type` is the type that
  /// the decoder's weights are multiplied in. Unless it is kF32, keys and values are rounded as in a PooledState.
  WholeState(std::span<const KeyValue> memories, const ops::Offsets& source_offsets,
             tensor::ComputeType type = tensor::ComputeType::kF32);
  /// Sets the memories of a state that was constructed without them.
  void set_memories(std::span<const KeyValue> memories) noexcept { memories_ = memories; }

  /// Makes later decode() calls keep the attention that `heads` selects.
  void request_alignment(const AlignmentHeads& heads) { attention_.request(heads); }
  /// After decode(): returns the weights of target token t (row of the result) over its source positions. Waits for the
  /// device.
  std::vector<float> alignment(std::int64_t token);

  /// Makes the next decode() call compute the losses of `guide`.
  void guide_attention(const AttentionGuide& guide) {
    guide_ = guide;
    guided_ = false;
  }
  /// True if the losses were computed. False if the layer of that attention was dropped.
  bool guided() const noexcept { return guided_; }
  const Tensor& alignment_losses() const noexcept { return guide_.losses; }

  /// Called by Seq2SeqModel::prepare_target(). Error{kInvalidArgument} unless there is one target for each source.
  void begin_step(Context& context, const tensor::RaggedTokens& next) override;

 private:
  Variable attend_history(Context& context, HistoryId id, const Variable& q, const Variable& k, const Variable& v,
                          int heads, double dropout, double scale, const Variable& bias) override;
  Variable attend_memory(Context& context, MemoryId id, const Variable& q, int heads, double dropout,
                         double scale) override;
  Tensor previous(Context& context, RowStateId id) const override;
  void store(Context& context, RowStateId id, const Tensor& latest) override;
  const Variable& kept(Context& context, const Variable& keys_or_values) const;

  std::span<const KeyValue> memories_;
  ops::Offsets source_offsets_;
  tensor::DType kept_type_;  ///< type of keys and values; F32: they are not rounded
  tensor::DeviceMemory* device_memory_ = nullptr;
  std::vector<std::int32_t> host_positions_;
  KeptAttention attention_;
  AttentionGuide guide_;
  bool guided_ = false;
};

}  // namespace dragoman::nn
