#include "dragoman/decoding/model_stepper.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/ops/rows.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {
namespace {

void copy_candidates(const tensor::Context& context, const ops::TopK& best, StepResult& result) {
  const auto tokens = tensor::HostView::of(context.memory(), best.tokens);
  const auto log_probabilities = tensor::HostView::of(context.memory(), best.log_probabilities);
  const std::int64_t count = best.tokens.size();
  const auto* first = tokens.tensor().as<std::int32_t>();
  result.tokens.assign(first, first + count);
  result.log_probabilities.resize(static_cast<std::size_t>(count));
  tensor::visit_float(best.log_probabilities.dtype, [&]<class Float>(Float) {
    std::copy_n(log_probabilities.tensor().as<Float>(), count, result.log_probabilities.begin());
  });
}

/// Shapes are what a device may key a captured step by.
std::uint64_t step_key(const StepRequest& request) {
  return static_cast<std::uint64_t>(request.rows.size()) << 32 | static_cast<std::uint64_t>(request.next.total());
}

}  // namespace

ModelStepper::ModelStepper(const nn::Seq2SeqModel& model, tensor::Context& context)
    : model_(&model), context_(&context), state_(context, model.state_layout()) {}

ModelStepper::~ModelStepper() = default;

const nn::SequenceSpec& ModelStepper::spec() const {
  return model_->spec();
}

void ModelStepper::admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) {
  context_->step(static_cast<std::uint64_t>(sources.total()), [&] {
    const nn::Encoding encoding = model_->encode(*context_, sources);
    const std::vector<nn::KeyValue> memories = model_->memories(*context_, encoding);
    state_.admit(*context_, memories, encoding.offsets, slots);
  });
}

void ModelStepper::release(std::int32_t slot) {
  state_.release(slot);
}

bool ModelStepper::has_alignment() const {
  return model_->alignment_heads().memory.index >= 0;
}

std::size_t ModelStepper::bytes_in_use() const {
  return state_.bytes_in_use();
}

std::size_t ModelStepper::expected_bytes(std::int64_t source_tokens, std::int64_t target_tokens) const {
  std::int64_t values = 0;
  for (const std::int64_t width : model_->state_layout().memories()) values += 2 * width * source_tokens;
  for (const std::int64_t width : model_->state_layout().histories()) values += 2 * width * target_tokens;
  return static_cast<std::size_t>(values) * tensor::size_of(context_->float_type());
}

void ModelStepper::step(const StepRequest& request, StepResult& result) {
  context_->step(step_key(request), [&] { run_step(request, result); });
}

void ModelStepper::run_step(const StepRequest& request, StepResult& result) {
  core::require(!request.alignment || has_alignment(), core::ErrorCode::kUnsupported,
                "this model has no attention to take alignments from");
  state_.request_alignment(request.alignment ? model_->alignment_heads() : nn::AlignmentHeads{});
  state_.set_rows(request.rows);
  const nn::Tensor states = model_->decode(*context_, request.next, state_).states.value;

  result.alignments.clear();
  for (std::int64_t t = 0; request.alignment && t < request.next.total(); ++t)
    result.alignments.push_back(state_.alignment(t));
  score_forced(request, states, result);

  nn::Tensor last = states;
  if (states.rows != static_cast<std::int64_t>(request.rows.size())) {
    chosen_rows_.clear();
    for (std::int64_t row = 0; row < request.next.batch(); ++row)
      chosen_rows_.push_back(request.next.offsets[static_cast<std::size_t>(row) + 1] - 1);
    last = ops::gather_rows(*context_, states, context_->upload_copy(std::span<const std::int32_t>(chosen_rows_)));
  }
  copy_candidates(*context_,
                  ops::project_top_k(*context_, last, model_->output(),
                                     {.k = request.candidates,
                                      .temperature = request.temperature,
                                      .edits = request.edits,
                                      .noise = request.noise}),
                  result);
}

/// The state after token t - 1 of a row tells how probable its token t was.
void ModelStepper::score_forced(const StepRequest& request, const nn::Tensor& states, StepResult& result) {
  result.forced_log_probabilities.assign(request.next.tokens.size(), 0);
  chosen_rows_.clear();
  forced_tokens_.clear();
  for (std::int64_t row = 0; row < request.next.batch(); ++row) {
    const std::int32_t begin = request.next.offsets[static_cast<std::size_t>(row)];
    for (std::int32_t i = 1; i < request.next.length(row); ++i) {
      chosen_rows_.push_back(begin + i - 1);
      forced_tokens_.push_back(request.next.tokens[static_cast<std::size_t>(begin + i)]);
    }
  }
  if (chosen_rows_.empty()) return;
  forced_scores_.resize(chosen_rows_.size());
  ops::target_log_probabilities(
      *context_,
      ops::gather_rows(*context_, states, context_->upload_copy(std::span<const std::int32_t>(chosen_rows_))),
      model_->output(), context_->indices(forced_tokens_), forced_scores_);
  for (std::size_t i = 0; i < chosen_rows_.size(); ++i)
    result.forced_log_probabilities[static_cast<std::size_t>(chosen_rows_[i]) + 1] = forced_scores_[i];
}

}  // namespace dragoman::decoding
