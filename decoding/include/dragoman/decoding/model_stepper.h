#pragma once

#include <memory>
#include <optional>

#include <dragoman/decoding/step_model.h>
#include <dragoman/nn/pooled_state.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {

class ShortlistCache;

/// A StepModel over a Seq2SeqModel: pooled decoder state, cached steps, fused projection and selection. Model and
/// context must outlive it; the context is its own while it works: every call frees the step memory of the last one.
/// The model may be shared by any number of steppers.
class ModelStepper final : public StepModel {
 public:
  ModelStepper(const nn::Seq2SeqModel& model, tensor::Context& context);
  ~ModelStepper() override;

  const nn::SequenceSpec& spec() const override;
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override;
  void release(std::int32_t slot) override;
  void step(const StepRequest& request, StepResult& result) override;
  /// Where the host cannot read the device's memory, and steps can be told by their shapes alone.
  bool runs_ahead() const override;
  std::unique_ptr<PendingStep> begin(const StepRequest& request) override;
  /// Log probabilities [*, V] of the model's own softmax, in the context's step memory until the next call.
  struct Distributions {
    tensor::HostView last;                          ///< of what follows each row
    std::optional<tensor::HostView> before_forced;  ///< of each token of `next` but the first ones of their rows
  };
  /// A step that does not choose: candidates, temperatures, edits and noise of the request mean nothing, and of the
  /// result only the alignments are filled in.
  Distributions distributions(const StepRequest& request, StepResult& result);
  bool has_alignment() const override;
  std::size_t bytes_in_use() const override;
  std::size_t expected_bytes(std::int64_t source_tokens, std::int64_t target_tokens) const override;

 private:
  struct Outcome;

  Outcome run(const StepRequest& request);
  void make_room_for_candidates(std::int64_t rows, std::int64_t per_row);
  void require_possible(const StepRequest& request) const;
  void keep_alignments(const StepRequest& request, const nn::Tensor& attention, StepResult& result);
  void choose_rows(const StepRequest& request);
  void copy_forced(const StepRequest& request, const nn::Tensor& nlls, StepResult& result) const;

  const nn::Seq2SeqModel* model_;
  tensor::Context* context_;
  nn::PooledState state_;
  std::unique_ptr<ShortlistCache> shortlist_cache_;
  /// Of the last step, where a model runs ahead: the next one chooses from them. Tokens lie behind log probabilities.
  ops::TopK candidates_;
  tensor::Buffer candidate_buffer_;
  std::int64_t candidate_generation_ = 0;
  std::vector<std::int32_t> last_rows_;    ///< of each row's last new token among all new tokens
  std::vector<std::int32_t> scored_rows_;  ///< of the tokens before forced ones
  std::vector<std::int32_t> forced_tokens_;
};

}  // namespace dragoman::decoding
