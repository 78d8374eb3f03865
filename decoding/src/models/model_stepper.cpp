#include "dragoman/decoding/model_stepper.h"

#include "padded_request.h"
#include "shortlist_cache.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/rows.h>
#include <dragoman/ops/softmax.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {
namespace {

/// Takes tensors that the host can read.
void copy_candidates(const nn::Tensor& tokens, const nn::Tensor& log_probabilities, StepResult& result) {
  const std::int64_t count = tokens.size();
  const auto* first = tokens.as<std::int32_t>();
  result.tokens.assign(first, first + count);
  result.log_probabilities.resize(static_cast<std::size_t>(count));
  tensor::visit_float(log_probabilities.dtype, [&]<class Float>(Float) {
    std::copy_n(log_probabilities.as<Float>(), count, result.log_probabilities.begin());
  });
}

void copy_wanted(const tensor::Context& context, const ops::TopK& best, std::size_t count, StepResult& result) {
  result.scored_log_probabilities.resize(count);
  if (count == 0) return;
  const auto scored = tensor::HostView::of(context.memory(), best.scored_log_probabilities);
  tensor::visit_float(best.scored_log_probabilities.dtype, [&]<class Float>(Float) {
    std::copy_n(scored.tensor().as<Float>(), count, result.scored_log_probabilities.begin());
  });
}

/// Candidates that are copied to the host: log probabilities, which include the padding, then tokens.
class PendingCandidates final : public PendingStep {
 public:
  PendingCandidates(tensor::DeviceMemory& memory, const ops::TopK& candidates)
      : candidates_(candidates),
        tokens_begin_(static_cast<std::size_t>(static_cast<const std::byte*>(candidates.tokens.data) -
                                               static_cast<const std::byte*>(candidates.log_probabilities.data))),
        read_(memory.begin_read(candidates.log_probabilities.data,
                                tokens_begin_ + tensor::bytes_of(candidates.tokens))) {}

  void finish(StepResult& result) override {
    auto* const bytes = const_cast<std::byte*>(read_->wait().data());  // the memory of a tensor; it is not written
    candidates_.log_probabilities.data = bytes;
    candidates_.tokens.data = bytes + tokens_begin_;
    copy_candidates(candidates_.tokens, candidates_.log_probabilities, result);
    result.scored_log_probabilities.clear();
    result.forced_log_probabilities.assign(static_cast<std::size_t>(candidates_.tokens.rows), 0);
    result.alignments.clear();
  }

 private:
  ops::TopK candidates_;
  std::size_t tokens_begin_;
  std::unique_ptr<tensor::PendingRead> read_;
};

/// Returns the tensor without the rows of padding.
nn::Tensor first_rows(nn::Tensor tensor, std::size_t rows) {
  if (!tensor.empty()) tensor.rows = static_cast<std::int64_t>(rows);
  return tensor;
}
ops::TopK first_rows(ops::TopK best, std::size_t rows) {
  best.tokens = first_rows(best.tokens, rows);
  best.log_probabilities = first_rows(best.log_probabilities, rows);
  return best;
}

}  // namespace

/// The results of the body of a step.
struct ModelStepper::Outcome {
  ops::TopK best;
  nn::Tensor forced_nlls;
  nn::Tensor attention;
};

ModelStepper::ModelStepper(const nn::Seq2SeqModel& model, tensor::Context& context)
    : model_(&model),
      context_(&context),
      state_(context, model.state_layout(), model.parameters().compute_type()),
      shortlist_cache_(std::make_unique<ShortlistCache>()),
      padded_request_(std::make_unique<PaddedRequest>()) {}

ModelStepper::~ModelStepper() = default;

const nn::SequenceSpec& ModelStepper::spec() const {
  return model_->spec();
}

void ModelStepper::admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) {
  nn::Sequences source;
  std::fill(slots.begin(), slots.end(), -1);
  // Sources that were admitted but not filled must be released.
  const auto release_all = [&] {
    for (const std::int32_t slot : slots)
      if (slot >= 0) state_.release(slot);
  };
  try {
    context_->step(
        [&]() -> tensor::StepKey {
          source = model_->prepare_source(*context_, sources);
          state_.admit(*context_, sources.offsets, slots);
          if (!model_->recordable()) return tensor::StepKey::never();
          return {"encode", {model_->parameters().generation(), state_.generation(), sources.total(), sources.batch()}};
        },
        [&] {
          const nn::Encoding encoding = model_->encode(*context_, source);
          state_.store_memories(*context_, model_->memories(*context_, encoding));
          return true;
        });
    for (const std::int32_t slot : slots) shortlist_cache_->admit(slot);
  } catch (...) {
    release_all();
    throw;
  }
}

void ModelStepper::release(std::int32_t slot) {
  shortlist_cache_->release(slot);
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
  return state_.bytes_of(values);
}

void ModelStepper::require_possible(const StepRequest& request) const {
  core::require(!request.alignment || has_alignment(), core::ErrorCode::kUnsupported,
                "this model has no attention to take alignments from");
}

void ModelStepper::keep_alignments(const StepRequest& request, const nn::Tensor& attention, StepResult& result) {
  state_.keep_attention(attention);
  result.alignments.clear();
  for (std::int64_t t = 0; request.alignment && t < request.next.total(); ++t)
    result.alignments.push_back(state_.alignment(t));
}

/// Adds rows of padding where the device records steps, so that different numbers of rows share one shape.
const StepRequest& ModelStepper::padded(const StepRequest& request) {
  const auto rows = static_cast<std::int64_t>(request.rows.size());
  const bool repeats = model_->recordable() && rows > 0 && request.next.total() == rows;
  return padded_request_->assign(request, repeats ? context_->row_bucket(rows) - rows : 0, spec().decoder_start,
                                 candidates_.tokens.rows);
}

/// `request` has the padding.
void ModelStepper::prepare_rows(const StepRequest& request, std::int64_t padding) {
  require_possible(request);
  state_.request_alignment(request.alignment ? model_->alignment_heads() : nn::AlignmentHeads{});
  state_.set_rows(request.rows, padding);
  choose_rows(request);
}

ModelStepper::Distributions ModelStepper::distributions(const StepRequest& exact, StepResult& result) {
  const StepRequest& request = padded(exact);
  prepare_rows(request, request.next.batch() - exact.next.batch());
  nn::Sequences next;
  ops::DeviceIndices last_rows, scored_rows;
  struct Found {
    nn::Tensor last;
    nn::Tensor before_forced;
    nn::Tensor attention;
  };
  const Found found = context_->step(
      [&]() -> tensor::StepKey {
        next = model_->prepare_target(*context_, request.next, state_);
        last_rows = context_->upload(std::span<const std::int32_t>(last_rows_));
        scored_rows = context_->upload(std::span<const std::int32_t>(scored_rows_));
        if (!model_->recordable()) return tensor::StepKey::never();
        return {"distribute",
                {model_->parameters().generation(), state_.generation(), static_cast<std::int64_t>(request.rows.size()),
                 request.next.total(), request.alignment ? 1 : 0, state_.longest_history(), state_.longest_source()}};
      },
      [&]() -> Found {
        const nn::Tensor states = model_->decode(*context_, next, state_).states.value;
        const ops::Projection output = model_->output();
        const auto distribution = [&](const nn::Tensor& rows) {
          const nn::Variable logits =
              ops::linear(*context_, {rows, nullptr}, {{output.weight.value.value, nullptr}, output.weight.packed},
                          {output.bias.value, nullptr});
          return ops::log_softmax(*context_, logits).value;
        };
        Found tensors;
        tensors.last = distribution(ops::gather_rows(*context_, states, last_rows));
        if (!scored_rows.empty())
          tensors.before_forced = distribution(ops::gather_rows(*context_, states, scored_rows));
        tensors.attention = state_.kept_attention();
        return tensors;
      });
  keep_alignments(exact, found.attention, result);
  return {tensor::HostView::of(context_->memory(), first_rows(found.last, exact.rows.size())),
          scored_rows_.empty() ? std::nullopt
                               : std::optional(tensor::HostView::of(context_->memory(), found.before_forced))};
}

void ModelStepper::step(const StepRequest& request, StepResult& result) {
  Outcome outcome = run(request);
  outcome.best = first_rows(outcome.best, request.rows.size());
  keep_alignments(request, outcome.attention, result);
  copy_forced(request, outcome.forced_nlls, result);
  copy_candidates(tensor::HostView::of(context_->memory(), outcome.best.tokens).tensor(),
                  tensor::HostView::of(context_->memory(), outcome.best.log_probabilities).tensor(), result);
  copy_wanted(*context_, outcome.best, request.scored.size(), result);
}

bool ModelStepper::runs_ahead() const {
  return !context_->memory().host_readable() && model_->recordable();
}

std::unique_ptr<PendingStep> ModelStepper::begin(const StepRequest& request) {
  core::require(runs_ahead() && request.next.total() == request.next.batch() && request.scored.empty() &&
                    request.noise.empty() && request.edits.empty() && !request.alignment,
                core::ErrorCode::kInternal, "a step that wants more than candidates cannot be begun");
  return std::make_unique<PendingCandidates>(context_->memory(), first_rows(run(request).best, request.rows.size()));
}

/// Uses the buffer of the last step's candidates: the kernel that reads those was launched before.
void ModelStepper::make_room_for_candidates(std::int64_t rows, std::int64_t per_row) {
  if (!runs_ahead()) return;
  const std::int64_t count = rows * per_row;
  const tensor::DType type = context_->float_type();
  const std::size_t float_bytes = static_cast<std::size_t>(count) * tensor::size_of(type);
  const std::size_t bytes = float_bytes + static_cast<std::size_t>(count) * sizeof(std::int32_t);
  if (candidate_buffer_.size() < bytes) {
    candidate_buffer_ = tensor::Buffer(context_->memory(), 2 * bytes);
    candidate_generation_ = tensor::next_generation();
  }
  auto* const data = static_cast<std::byte*>(candidate_buffer_.data());
  candidates_ = {{data + float_bytes, rows, per_row, per_row, tensor::DType::kI32, context_->device()},
                 {data, rows, per_row, per_row, type, context_->device()}};
}

ModelStepper::Outcome ModelStepper::run(const StepRequest& exact) {
  const StepRequest& request = padded(exact);
  prepare_rows(request, request.next.batch() - exact.next.batch());
  const auto rows = static_cast<std::int64_t>(request.rows.size());
  const bool whole_rows = request.next.total() == rows;
  const std::int64_t vocabulary = model_->spec().target_vocabulary;
  const bool uses_shortlist =
      shortlist_cache_->prepare(*context_, model_->output(), model_->parameters().generation(), request);
  nn::Sequences next;
  ops::UploadedTopKOptions options;
  ops::Listing listing;
  ops::DeviceIndices last_rows, scored_rows;
  ops::Indices forced;

  return context_->step(
      [&]() -> tensor::StepKey {
        next = model_->prepare_target(
            *context_, request.next, state_,
            {candidates_.tokens, candidates_.log_probabilities, request.log_probabilities, request.chosen});
        make_room_for_candidates(rows, request.candidates);
        options = ops::upload(*context_,
                              {.k = request.candidates,
                               .temperatures = request.temperatures,
                               .edits = request.edits,
                               .noise = request.noise,
                               .scored = request.scored,
                               .shortlist = request.shortlist,
                               .shortlist_of_row = request.shortlist_of_row},
                              rows, vocabulary);
        if (uses_shortlist)
          listing = {shortlist_cache_->outputs(), shortlist_cache_->columns(),
                     ops::upload(*context_, shortlist_cache_->shortlist_columns())};
        last_rows = context_->upload(std::span<const std::int32_t>(last_rows_));
        scored_rows = context_->upload(std::span<const std::int32_t>(scored_rows_));
        forced = context_->indices(forced_tokens_);
        if (!model_->recordable()) return tensor::StepKey::never();
        // Outputs are gathered again when parameters change, and then every row has a list.
        const std::int64_t generation =
            uses_shortlist ? shortlist_cache_->generation() : model_->parameters().generation();
        const std::int64_t state_generation = std::max(state_.generation(), candidate_generation_);
        const std::int64_t lists = uses_shortlist ? listing.columns : options.shortlist_of_row.size();
        return {uses_shortlist ? "decode_shortlist" : "decode",
                {generation, state_generation, rows, request.next.total(), forced.size(), request.candidates,
                 request.alignment ? 1 : 0, options.edits.size(), options.noise.size(), options.scored.size(),
                 options.shortlist.size(), lists, state_.longest_history(), state_.longest_source()}};
      },
      [&]() -> Outcome {
        const nn::Tensor states = model_->decode(*context_, next, state_).states.value;
        Outcome found;
        if (!scored_rows.empty())
          found.forced_nlls =
              ops::target_nlls(*context_, ops::gather_rows(*context_, states, scored_rows), model_->output(), forced);
        const nn::Tensor last = whole_rows ? states : ops::gather_rows(*context_, states, last_rows);
        found.best = uses_shortlist ? ops::project_shortlist_top_k(*context_, last, model_->output(), options, listing,
                                                                   candidates_)
                                    : ops::project_top_k(*context_, last, model_->output(), options, candidates_);
        found.attention = state_.kept_attention();
        return found;
      });
}

/// The state of the last new token of a row predicts the next token. The state after token t - 1 gives the probability
/// of token t.
void ModelStepper::choose_rows(const StepRequest& request) {
  last_rows_.clear();
  scored_rows_.clear();
  forced_tokens_.clear();
  for (std::int64_t row = 0; row < request.next.batch(); ++row) {
    const std::int32_t begin = request.next.offsets[static_cast<std::size_t>(row)];
    last_rows_.push_back(begin + request.next.length(row) - 1);
    for (std::int32_t i = 1; i < request.next.length(row); ++i) {
      scored_rows_.push_back(begin + i - 1);
      forced_tokens_.push_back(request.next.tokens[static_cast<std::size_t>(begin + i)]);
    }
  }
}

void ModelStepper::copy_forced(const StepRequest& request, const nn::Tensor& nlls, StepResult& result) const {
  result.forced_log_probabilities.assign(request.next.tokens.size(), 0);
  if (scored_rows_.empty()) return;
  const auto view = tensor::HostView::of(context_->memory(), nlls);
  for (std::size_t i = 0; i < scored_rows_.size(); ++i)
    result.forced_log_probabilities[static_cast<std::size_t>(scored_rows_[i]) + 1] = -view.tensor().as<double>()[i];
}

}  // namespace dragoman::decoding
