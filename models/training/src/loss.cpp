#include "dragoman/training/loss.h"

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

/// Equal keys mean equal shapes.
std::uint64_t shape_key(const Batch& batch) {
  return (static_cast<std::uint64_t>(batch.source().total()) << 32) | static_cast<std::uint64_t>(batch.target_tokens());
}

ops::LossSums forward(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                      const ops::CrossEntropyOptions& options) {
  const nn::Encoding encoding = model.encode(context, batch.source());
  const std::vector<nn::KeyValue> memories = model.memories(context, encoding);
  nn::DecoderState state = nn::DecoderState::whole(memories, encoding.offsets);
  const nn::Decoding decoding = model.decode(context, batch.input(), state);
  const ops::LossSums sums =
      ops::softmax_cross_entropy(context, decoding.states, model.output(), context.indices(batch.target()), options);
  // Records of the tape point into memories and state, so both live until the backward pass is over.
  if (context.tape() != nullptr) context.tape()->backward(context);
  return sums;
}

}  // namespace

ops::LossSums accumulate_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                                   double label_smoothing, double gradient_scale, DropoutKey dropout) {
  autograd::Tape tape;
  const ModeScope mode(context, &tape, true);
  context.set_random(dropout.seed, dropout.step);
  ops::LossSums sums;
  context.step(shape_key(batch), [&] {
    sums = forward(context, model, batch, {.label_smoothing = label_smoothing, .gradient_scale = gradient_scale});
  });
  return sums;
}

ops::LossSums evaluate_loss(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                            double label_smoothing) {
  const ModeScope mode(context, nullptr, false);
  ops::LossSums sums;
  context.step(shape_key(batch), [&] { sums = forward(context, model, batch, {.label_smoothing = label_smoothing}); });
  return sums;
}

}  // namespace dragoman::training
