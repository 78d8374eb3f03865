#include "subject.h"

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::plugins {
namespace {

constexpr std::uint64_t kParameterSeed = 42;
constexpr std::uint64_t kLabelStream = 1000;

/// Draws values that are exact in single precision, so that all devices have equal values.
void disturb(nn::ParameterStore& store) {
  constexpr double kAmplitude = 0.2;
  std::uint64_t stream = 0;
  for (nn::Parameter& parameter : store.all()) {
    ++stream;
    const auto view = tensor::HostView::of(store.memory(), parameter.value);
    for (std::int64_t i = 0; i < parameter.rows; ++i) {
      for (std::int64_t j = 0; j < parameter.cols; ++j) {
        const auto index = static_cast<std::uint64_t>(i * parameter.cols + j);
        const auto noise = kAmplitude * (2 * core::random_uniform(kParameterSeed + 1, stream, index) - 1);
        const auto initial = static_cast<float>(tensor::element(view.tensor(), i, j));
        tensor::set_element(view.tensor(), i, j, static_cast<float>(initial + noise));
      }
    }
    view.store();
  }
}

nn::Decoding run_whole(tensor::Context& context, const nn::Seq2SeqModel& model, const Ragged& sources,
                       const Ragged& targets, std::vector<nn::KeyValue>& memories,
                       std::optional<nn::WholeState>& state) {
  const nn::Encoding encoding = model.encode(context, sources.view());
  memories = model.memories(context, encoding);
  state.emplace(memories, context.indices(sources.offsets));
  return model.decode(context, targets.view(), *state);
}

/// Sets the tape and the mode of a context, and resets them at the end.
class ModeScope {
 public:
  ModeScope(tensor::Context& context, const PassMode& mode) : training_(&autograd::training_mode(context)) {
    training_->set_tape(mode.record ? &tape_ : nullptr);
    training_->set_training(mode.training);
    training_->set_random(kParameterSeed, 0);
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;
  ~ModeScope() {
    training_->set_tape(nullptr);
    training_->set_training(false);
  }
  autograd::Tape& tape() noexcept { return tape_; }

 private:
  autograd::TrainingMode* training_;
  autograd::Tape tape_;
};

}  // namespace

Subject::Subject(const ModelEntry& entry, const runtime::Runtime& runtime, const SubjectOptions& options)
    : executor_(core::make_executor(options.threads)),
      model_(entry.make(example_spec(), entry.example)),
      context_(runtime.make_context(options.device, *executor_)) {
  core::require(model_ != nullptr, core::ErrorCode::kInternal, "the factory of '{}' returned no model", entry.name);
  nn::ParameterStore& store = model_->parameters();
  store.allocate(memory(), dtype(), options.device);
  store.initialise(kParameterSeed);
  disturb(store);
  if (options.packed) store.prepare(*context_, *options.packed);
}

std::unique_ptr<nn::Seq2SeqModel> Subject::remade(const ModelEntry& entry, const nn::Seq2SeqModel& model) {
  return entry.make(model.spec(), model.config());
}

Matrix encode(Subject& subject, const std::vector<Pair>& pairs) {
  const Ragged sources = sources_of(pairs);
  Matrix states;
  subject.context().step([&] {
    states = read(subject.context(), subject.model().encode(subject.context(), sources.view()).states.value);
  });
  return states;
}

Matrix decode_whole(tensor::Context& context, const nn::Seq2SeqModel& model, const std::vector<Pair>& pairs,
                    const PassMode& mode) {
  const Ragged sources = sources_of(pairs);
  const Ragged targets = targets_of(pairs);
  std::vector<nn::KeyValue> memories;
  std::optional<nn::WholeState> state;
  ModeScope scope(context, mode);
  Matrix states;
  context.step(
      [&] { states = read(context, run_whole(context, model, sources, targets, memories, state).states.value); });
  return states;
}

Matrix decode_whole(Subject& subject, const std::vector<Pair>& pairs, const PassMode& mode) {
  return decode_whole(subject.context(), subject.model(), pairs, mode);
}

double loss(Subject& subject, const std::vector<Pair>& pairs, bool gradients) {
  tensor::Context& context = subject.context();
  const Ragged sources = sources_of(pairs);
  const Ragged targets = targets_of(pairs);
  Tokens labels;
  for (std::size_t i = 0; i < targets.tokens.size(); ++i) labels.push_back(random_token(kLabelStream, i));
  std::vector<nn::KeyValue> memories;
  std::optional<nn::WholeState> state;
  ModeScope scope(context, {.record = gradients, .training = gradients});
  if (gradients) subject.model().parameters().begin_gradients();
  double result = 0;
  context.step([&] {
    const tensor::Arena::Mark begin = context.arena().mark();
    const nn::Decoding decoding = run_whole(context, subject.model(), sources, targets, memories, state);
    const tensor::Arena::Mark end = context.arena().mark();
    result = ops::softmax_cross_entropy(context, decoding.states, subject.model().output(), context.indices(labels),
                                        {.label_smoothing = 0.1})
                 .loss;
    if (gradients) scope.tape().backward(context, {begin, end});  // as a trainer does
  });
  return result;
}

}  // namespace dragoman::plugins
