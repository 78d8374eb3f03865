#include "dragoman/training/loss.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <dragoman/core/error.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/paired_cross_entropy.h>

namespace dragoman::training {
namespace {

/// Sets a context's tape and training mode and puts back what was there, whatever is thrown.
class ModeScope {
 public:
  ModeScope(tensor::Context& context, autograd::Tape* tape, bool training)
      : context_(context), tape_(context.tape()), training_(context.training()) {
    context_.set_tape(tape);
    context_.set_training(training);
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;
  ~ModeScope() {
    context_.set_tape(tape_);
    context_.set_training(training_);
  }

 private:
  tensor::Context& context_;
  autograd::Tape* tape_;
  bool training_;
};

/// What a body leaves behind.
struct Outcome {
  ops::RowLosses losses;
  std::vector<bool> written_gradients;
};

/// Of which gradients are written: those are added to, where others are assigned (FNV-1a over the flags).
std::int64_t fingerprint(const std::vector<bool>& flags) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const bool flag : flags) hash = (hash ^ (flag ? 1U : 0U)) * 0x100000001B3;
  return std::bit_cast<std::int64_t>(hash);
}

tensor::StepKey key_of(const tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                       const LossOptions& options) {
  const bool recordable = context.training() ? model.recordable_in_training() : model.recordable();
  if (!recordable) return tensor::StepKey::never();
  const tensor::RaggedTokens source = batch.source(), input = batch.input();
  // Attention weights that are kept for the backward pass have so much room for each head.
  const auto weights = [&](const tensor::RaggedTokens& queries, const tensor::RaggedTokens& keys) {
    if (!ops::keeps_attention_weights(context)) return std::int64_t{0};
    return context.coarse_bucket(ops::pairs_of_rows(queries.offsets, keys.offsets));
  };
  return {"loss",
          {model.parameters().generation(), source.total(), source.batch(), input.total(), weights(source, source),
           weights(input, source), weights(input, input), fingerprint(model.parameters().written_gradients()),
           std::bit_cast<std::int64_t>(options.label_smoothing), std::bit_cast<std::int64_t>(options.r_drop)}};
}

ops::RowLosses losses_of(tensor::Context& context, const ops::Variable& hidden, const ops::Projection& projection,
                         const ops::Indices& target, const LossOptions& options,
                         const ops::DeviceArray<double>& scale) {
  if (options.r_drop > 0)
    return ops::paired_cross_entropy_rows(context, hidden, projection, target, options.label_smoothing, options.r_drop,
                                          scale);
  return ops::cross_entropy_rows(context, hidden, projection, target, options.label_smoothing, scale);
}

/// One step: the forward pass, and the backward pass if a tape is set.
ops::LossSums run(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                  const LossOptions& options, const double& gradient_scale) {
  nn::Sequences source, input;
  ops::Indices target;
  ops::DeviceArray<double> scale;
  std::optional<nn::DecoderState> state;
  std::vector<nn::KeyValue> memories;
  const Outcome outcome = context.step(
      [&] {
        source = model.prepare_source(context, batch.source());
        state = nn::DecoderState::whole({}, source.offsets);
        input = model.prepare_target(context, batch.input(), *state);
        target = context.indices(batch.target());
        scale = context.upload(std::span(&gradient_scale, 1));
        // It costs passes over the batch, so it is made where somebody reads it.
        return context.records() ? key_of(context, model, batch, options) : tensor::StepKey{"loss"};
      },
      [&]() -> Outcome {
        const nn::Encoding encoding = model.encode(context, source);
        memories = model.memories(context, encoding);
        state->set_memories(memories);
        const nn::Decoding decoding = model.decode(context, input, *state);
        const ops::RowLosses losses = losses_of(context, decoding.states, model.output(), target, options, scale);
        // Records of the tape point into memories and state, so both live until the backward pass is over.
        if (context.tape() != nullptr) context.tape()->backward(context);
        return {losses, context.records() ? model.parameters().written_gradients() : std::vector<bool>{}};
      });
  if (context.records()) model.parameters().set_written_gradients(outcome.written_gradients);
  return ops::sum_of(context, outcome.losses, batch.target());
}

}  // namespace

double uniform_smoothing(const RecipeConfig& recipe, std::int64_t vocabulary) {
  if (recipe.label_smoothing_kind == SmoothingKind::kUniform || recipe.label_smoothing == 0)
    return recipe.label_smoothing;
  // With s V / (V - 1) everywhere the target has 1 - s, and each of the others s / (V - 1).
  const auto pieces = static_cast<double>(vocabulary);
  const double spread = recipe.label_smoothing * pieces / (pieces - 1);
  core::require(vocabulary > 1 && spread < 1, core::ErrorCode::kBadInput,
                "training.label_smoothing: {} cannot be spread over the others of {} pieces", recipe.label_smoothing,
                vocabulary);
  return spread;
}

ops::LossSums accumulate_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                                   const LossOptions& options, double gradient_scale, DropoutKey dropout,
                                   autograd::Tape::Progress progress) {
  autograd::Tape tape;
  tape.set_progress(std::move(progress));
  const ModeScope mode(context, &tape, true);
  context.set_random(dropout.seed, dropout.step);
  return run(context, model, batch, options, gradient_scale);
}

ops::LossSums evaluate_loss(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                            double label_smoothing) {
  const ModeScope mode(context, nullptr, false);
  return run(context, model, batch, label_smoothing, 1);
}

}  // namespace dragoman::training
