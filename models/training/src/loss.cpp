#include "dragoman/training/loss.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <dragoman/ops/attention.h>

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
                       double label_smoothing) {
  const bool recordable = context.training() ? model.recordable_in_training() : model.recordable();
  if (!recordable) return tensor::StepKey::never();
  const tensor::RaggedTokens source = batch.source(), input = batch.input();
  // Attention weights that are kept for the backward pass have so much room for each head.
  const auto weights = [&](const tensor::RaggedTokens& queries, const tensor::RaggedTokens& keys) {
    return context.coarse_bucket(ops::pairs_of_rows(queries.offsets, keys.offsets));
  };
  return {"loss",
          {model.parameters().generation(), source.total(), source.batch(), input.total(), weights(source, source),
           weights(input, source), weights(input, input), fingerprint(model.parameters().written_gradients()),
           std::bit_cast<std::int64_t>(label_smoothing)}};
}

/// One step: the forward pass, and the backward pass if a tape is set.
ops::LossSums run(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch, double label_smoothing,
                  const double& gradient_scale) {
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
        return context.records() ? key_of(context, model, batch, label_smoothing) : tensor::StepKey{"loss"};
      },
      [&]() -> Outcome {
        const nn::Encoding encoding = model.encode(context, source);
        memories = model.memories(context, encoding);
        state->set_memories(memories);
        const nn::Decoding decoding = model.decode(context, input, *state);
        const ops::RowLosses losses =
            ops::cross_entropy_rows(context, decoding.states, model.output(), target, label_smoothing, scale);
        // Records of the tape point into memories and state, so both live until the backward pass is over.
        if (context.tape() != nullptr) context.tape()->backward(context);
        return {losses, context.records() ? model.parameters().written_gradients() : std::vector<bool>{}};
      });
  if (context.records()) model.parameters().set_written_gradients(outcome.written_gradients);
  return ops::sum_of(context, outcome.losses, batch.target());
}

}  // namespace

ops::LossSums accumulate_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                                   double label_smoothing, double gradient_scale, DropoutKey dropout,
                                   autograd::Tape::Progress progress) {
  autograd::Tape tape;
  tape.set_progress(std::move(progress));
  const ModeScope mode(context, &tape, true);
  context.set_random(dropout.seed, dropout.step);
  return run(context, model, batch, label_smoothing, gradient_scale);
}

ops::LossSums evaluate_loss(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                            double label_smoothing) {
  const ModeScope mode(context, nullptr, false);
  return run(context, model, batch, label_smoothing, 1);
}

}  // namespace dragoman::training
