#pragma once

#include <memory>
#include <optional>

#include <dragoman/decoding/step_model.h>
#include <dragoman/nn/pooled_state.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {

class PaddedRequest;
class ShortlistCache;

/// A StepModel over a Seq2SeqModel: pooled decoder state, cached steps, fused projection and selection. The model and
/// the context must outlive the stepper. The context must not be used otherwise meanwhile: each call frees the step
/// memory of the previous one. Any number of steppers may share the model.
///
///     Hypothesis translate(const nn::Seq2SeqModel& model, tensor::Context& context, const Sentence& sentence) {
///       ModelStepper stepper(model, context);
///       return decode_all(stepper, {sentence}, DecodingOptions{}).front().front();     // decoding_loop.h
///     }
///
/// Belongs to the thread of the context.
class ModelStepper final : public StepModel {
 public:
  ModelStepper(const nn::Seq2SeqModel& model, tensor::Context& context);
  ~ModelStepper() override;

  const nn::SequenceSpec& spec() const override;
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override;
  void release(std::int32_t slot) override;
  void step(const StepRequest& request, StepResult& result) override;
  /// True if the host cannot read the device's memory and steps are determined by their shapes.
  bool runs_ahead() const override;
  std::unique_ptr<PendingStep> begin(const StepRequest& request) override;
  /// Log probabilities [*, V] of the model's softmax, in the context's step memory until the next call.
  struct Distributions {
    tensor::HostView last;                          ///< of the successor of each row
    std::optional<tensor::HostView> before_forced;  ///< of each token of `next`, except the first token of each row
  };
  /// Runs a step that does not choose. Candidates, temperatures, edits and noise of the request are ignored. Only the
  /// alignments of the result are set.
  Distributions distributions(const StepRequest& request, StepResult& result);
  bool has_alignment() const override;
  std::size_t bytes_in_use() const override;
  std::size_t expected_bytes(std::int64_t source_tokens, std::int64_t target_tokens) const override;

 private:
  struct Outcome;

  const StepRequest& padded(const StepRequest& request);
  Outcome run(const StepRequest& request);
  void make_room_for_candidates(std::int64_t rows, std::int64_t per_row);
  void require_possible(const StepRequest& request) const;
  void keep_alignments(const StepRequest& request, const nn::Tensor& attention, StepResult& result);
  void prepare_rows(const StepRequest& request, std::int64_t padding);
  void choose_rows(const StepRequest& request);
  void copy_forced(const StepRequest& request, const nn::Tensor& nlls, StepResult& result) const;

  const nn::Seq2SeqModel* model_;
  tensor::Context* context_;
  nn::PooledState state_;
  std::unique_ptr<ShortlistCache> shortlist_cache_;
  std::unique_ptr<PaddedRequest> padded_request_;
  /// The candidates of the last step, if the model runs ahead: the next step chooses from them. In the buffer, tokens
  /// follow the log probabilities.
  ops::TopK candidates_;
  tensor::Buffer candidate_buffer_;
  std::int64_t candidate_generation_ = 0;
  std::vector<std::int32_t> last_rows_;    ///< for each row, the index of its last new token among all new tokens
  std::vector<std::int32_t> scored_rows_;  ///< the rows of the tokens that precede forced ones
  std::vector<std::int32_t> forced_tokens_;
};

}  // namespace dragoman::decoding
