#include "dragoman/training/loss.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <dragoman/core/error.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/paired_cross_entropy.h>
#include <dragoman/ops/rounded_parameters.h>

namespace dragoman::training {
namespace {

/// Sets the tape and dropout of a context during its lifetime.
class ModeScope {
 public:
  ModeScope(tensor::Context& context, autograd::Tape* tape, bool training)
      : mode_(autograd::training_mode(context)), tape_(mode_.tape()), training_(mode_.training()) {
    mode_.set_tape(tape);
    mode_.set_training(training);
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;
  ~ModeScope() {
    mode_.set_tape(tape_);
    mode_.set_training(training_);
  }

 private:
  autograd::TrainingMode& mode_;
  autograd::Tape* tape_;
  bool training_;
};

/// The results of a body.
struct Outcome {
  ops::RowLosses losses;
  tensor::Tensor alignment_losses;  ///< empty: no alignments
  std::vector<bool> written_gradients;
};

/// The alignments of a batch for a step: the host memory of the arrays that are uploaded.
struct Guide {
  bool wanted = false;
  std::vector<std::int32_t> links;  ///< including filler links
  double scale = 0;
  ops::AlignmentGoal goal{};
};

/// Each pair of a repeated batch has a share in the loss of its only set of targets.
double passes_of(const LossOptions& options) {
  return options.r_drop > 0 ? 2 : 1;
}

void prepare(tensor::Context& context, const nn::AlignmentHeads& heads, const Batch& batch, const LossOptions& options,
             double gradient_scale, Guide& guide) {
  guide.wanted = batch.aligned() && options.guided_alignment.weight > 0;
  if (!guide.wanted) return;
  core::require(heads.memory.index >= 0, core::ErrorCode::kInvalidArgument,
                "guided alignment: the model names no attention as its alignment");
  // Padded so that batches of equal shapes have equal uploads.
  guide.links.assign(batch.links().begin(), batch.links().end());
  guide.links.resize(static_cast<std::size_t>(context.coarse_bucket(static_cast<std::int64_t>(guide.links.size()))));
  guide.scale = gradient_scale * options.guided_alignment.weight / passes_of(options);
  guide.goal = {.link_offsets = context.indices(batch.link_offsets()),
                .links = context.indices(guide.links),
                .cost = options.guided_alignment.cost,
                .heads = heads.heads,
                .gradient_scale = context.upload(std::span<const double>(&guide.scale, 1))};
}

/// Returns a fingerprint (FNV-1a over the flags) of the gradients that are already written: later results are added to
/// these and assigned to others.
std::int64_t fingerprint(const std::vector<bool>& flags) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const bool flag : flags) hash = (hash ^ (flag ? 1U : 0U)) * 0x100000001B3;
  return std::bit_cast<std::int64_t>(hash);
}

tensor::StepKey key_of(const tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                       const LossOptions& options) {
  const bool recordable = autograd::is_training(context) ? model.recordable_in_training() : model.recordable();
  if (!recordable) return tensor::StepKey::never();
  const tensor::RaggedTokens source = batch.source(), input = batch.input();
  // Attention weights that are kept for the backward pass take this much room per head.
  const auto weights = [&](const tensor::RaggedTokens& queries, const tensor::RaggedTokens& keys) {
    if (!ops::keeps_attention_weights(context)) return std::int64_t{0};
    return context.coarse_bucket(ops::pairs_of_rows(queries.offsets, keys.offsets));
  };
  return {"loss",
          {model.parameters().generation(), source.total(), source.batch(), input.total(), weights(source, source),
           weights(input, source), weights(input, input), fingerprint(model.parameters().written_gradients()),
           std::bit_cast<std::int64_t>(options.label_smoothing), std::bit_cast<std::int64_t>(options.r_drop),
           batch.aligned() ? 1 + static_cast<std::int64_t>(options.guided_alignment.cost) : 0,
           std::bit_cast<std::int64_t>(options.guided_alignment.weight)}};
}

ops::RowLosses losses_of(tensor::Context& context, const ops::Variable& hidden, const ops::Projection& projection,
                         const ops::Indices& target, const LossOptions& options,
                         const ops::DeviceArray<double>& scale) {
  if (options.r_drop > 0)
    return ops::paired_cross_entropy_rows(context, hidden, projection, target, options.label_smoothing, options.r_drop,
                                          scale);
  return ops::cross_entropy_rows(context, hidden, projection, target, options.label_smoothing, scale);
}

/// Runs one step: the forward pass, and the backward pass if a tape is set. Leaves the sums of the losses in `record`,
/// or in step memory if that is nullptr. Returns their address.
const ops::LossRecord* queue(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                             const LossOptions& options, const double& gradient_scale,
                             ops::LossRecord* record = nullptr) {
  nn::Sequences source, input;
  ops::Indices target;
  ops::DeviceArray<double> scale;
  std::optional<nn::WholeState> state;
  std::vector<nn::KeyValue> memories;
  Guide guide;
  std::vector<bool> written_before;
  const nn::AlignmentHeads heads = model.alignment_heads();
  const Outcome outcome = context.step(
      [&] {
        source = model.prepare_source(context, batch.source());
        state.emplace(std::span<const nn::KeyValue>(), source.offsets);
        input = model.prepare_target(context, batch.input(), *state);
        target = context.indices(batch.target());
        scale = context.upload(std::span(&gradient_scale, 1));
        prepare(context, heads, batch, options, gradient_scale, guide);
        ops::prepare_rounding(context, model.parameters().flat_values());
        // The key needs passes over the batch, so it is computed only if it is used.
        if (context.records()) written_before = model.parameters().written_gradients();
        return context.records() ? key_of(context, model, batch, options) : tensor::StepKey{"loss"};
      },
      [&]() -> Outcome {
        // A body that could not be recorded runs again.
        if (context.records()) model.parameters().set_written_gradients(written_before);
        ops::round_parameters(context, model.parameters().flat_values());
        const tensor::Tensor alignment_losses =
            guide.wanted ? context.arena().allocate(1, input.host.total(), tensor::DType::kF64, context.device())
                         : tensor::Tensor{};
        const tensor::Arena::Mark before = context.arena().mark();
        const nn::Encoding encoding = model.encode(context, source);
        memories = model.memories(context, encoding);
        state->set_memories(memories);
        if (guide.wanted)
          state->guide_attention({.memory = heads.memory, .goal = guide.goal, .losses = alignment_losses});
        const nn::Decoding decoding = model.decode(context, input, *state);
        const tensor::Arena::Mark after = context.arena().mark();
        const ops::RowLosses losses = losses_of(context, decoding.states, model.output(), target, options, scale);
        // Records of the tape point to memories and state, so both must live until the backward pass is over.
        if (autograd::Tape* const tape = autograd::tape_of(context)) tape->backward(context, {before, after});
        return {losses, state->guided() ? state->alignment_losses() : tensor::Tensor{},
                context.records() ? model.parameters().written_gradients() : std::vector<bool>{}};
      });
  if (context.records()) model.parameters().set_written_gradients(outcome.written_gradients);
  if (record == nullptr) record = static_cast<ops::LossRecord*>(context.arena().allocate(sizeof(ops::LossRecord)));
  ops::sum_losses(context, {.losses = outcome.losses.losses,
                            .nlls = outcome.losses.nlls,
                            .alignment_losses = outcome.alignment_losses,
                            .alignment_weight = guide.wanted ? options.guided_alignment.weight : 0,
                            .passes = passes_of(options),
                            .record = record});
  return record;
}

/// As queue(), and waits for the result.
ops::LossSums run(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                  const LossOptions& options, double gradient_scale) {
  const ops::LossRecord* const record = queue(context, model, batch, options, gradient_scale);
  ops::LossSums sums;
  context.memory().copy_out(static_cast<ops::LossRecord*>(&sums), record, sizeof(ops::LossRecord));
  sums.tokens = ops::count_targets(batch.target());
  return sums;
}

}  // namespace

double uniform_smoothing(const TrainConfig& recipe, std::int64_t vocabulary) {
  if (recipe.label_smoothing_kind == SmoothingKind::kUniform || recipe.label_smoothing == 0)
    return recipe.label_smoothing;
  // With s V / (V - 1) for all pieces, the target has 1 - s, and each other piece s / (V - 1).
  const auto pieces = static_cast<double>(vocabulary);
  const double spread = recipe.label_smoothing * pieces / (pieces - 1);
  core::require(vocabulary > 1 && spread < 1, core::ErrorCode::kBadInput,
                "training.label_smoothing: {} cannot be spread over the others of {} pieces", recipe.label_smoothing,
                vocabulary);
  return spread;
}

void queue_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                     const LossOptions& options, double gradient_scale, DropoutKey dropout, ops::LossRecord* losses,
                     autograd::Tape::Progress progress) {
  autograd::Tape tape;
  tape.set_progress(std::move(progress));
  const ModeScope mode(context, &tape, true);
  autograd::training_mode(context).set_random(dropout.seed, dropout.step);
  queue(context, model, batch, options, gradient_scale, losses);
}

ops::LossSums accumulate_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                                   const LossOptions& options, double gradient_scale, DropoutKey dropout) {
  autograd::Tape tape;
  const ModeScope mode(context, &tape, true);
  autograd::training_mode(context).set_random(dropout.seed, dropout.step);
  return run(context, model, batch, options, gradient_scale);
}

ops::LossSums evaluate_loss(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                            double label_smoothing) {
  const ModeScope mode(context, nullptr, false);
  return run(context, model, batch, label_smoothing, 1);
}

}  // namespace dragoman::training
