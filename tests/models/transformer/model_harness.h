#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dragoman/autograd/tape.h>
#include <dragoman/core/random.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::testing {

/// A ragged batch that owns its tokens.
struct Batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets{0};
  explicit Batch(const std::vector<std::vector<std::int32_t>>& sequences) {
    for (const auto& sequence : sequences) {
      tokens.insert(tokens.end(), sequence.begin(), sequence.end());
      offsets.push_back(static_cast<std::int32_t>(tokens.size()));
    }
  }
  tensor::RaggedTokens view() const { return {tokens, offsets}; }
};

/// A model on one device with its context.
class Bench {
 public:
  Bench(tensor::Device device, const nn::SequenceSpec& spec, const core::Json& config, std::uint64_t seed = 7)
      : context(runtime.make_context(device, executor)), model(transformer::make_transformer(spec, config)) {
    model->parameters().allocate(context->memory(), context->float_type(), device);
    model->parameters().initialise(seed);
    shake(seed);
  }

  /// Moves gains off 1 and biases off 0, where mistakes would hide.
  void shake(std::uint64_t seed);

  /// Teacher forcing: states of all target inputs [T, d] in step memory.
  nn::Variable whole_states(const Batch& source, const Batch& inputs) {
    encoding_ = model->encode(*context, source.view());
    memories_ = model->memories(*context, encoding_);
    state_ = std::make_unique<nn::WholeState>(memories_, encoding_.offsets);
    return model->decode(*context, inputs.view(), *state_).states;
  }

  /// Teacher-forced loss; gradients are left in the parameters if `backward`.
  double loss(const Batch& source, const Batch& inputs, const Batch& targets, double smoothing, bool backward) {
    double value = 0;
    context->step([&] {
      autograd::Tape tape;
      if (backward) {
        if (model->parameters().flat_gradients().empty()) model->parameters().attach_gradients(context->memory());
        model->parameters().begin_gradients();
        autograd::training_mode(*context).set_tape(&tape);
      }
      const tensor::Arena::Mark begin = context->arena().mark();
      const nn::Variable states = whole_states(source, inputs);
      const tensor::Arena::Mark end = context->arena().mark();
      value = ops::softmax_cross_entropy(*context, states, model->output(), context->indices(targets.tokens),
                                         {.label_smoothing = smoothing, .gradient_scale = 1})
                  .loss;
      if (backward) {
        tape.backward(*context, {begin, end});
        model->parameters().finish_gradients();
      }
      autograd::training_mode(*context).set_tape(nullptr);
    });
    return value;
  }

  runtime::Runtime runtime;
  core::SequentialExecutor executor;
  std::unique_ptr<tensor::Context> context;
  std::unique_ptr<nn::Seq2SeqModel> model;

 private:
  nn::Encoding encoding_;
  std::vector<nn::KeyValue> memories_;
  std::unique_ptr<nn::WholeState> state_;
};

inline void Bench::shake(std::uint64_t seed) {
  std::uint64_t stream = 1000;
  for (const nn::Parameter& parameter : model->parameters().all()) {
    ++stream;
    if (parameter.rank != 1) continue;
    for (std::int64_t j = 0; j < parameter.cols; ++j)
      tensor::set_element(parameter.value, 0, j,
                          tensor::element(parameter.value, 0, j) +
                              0.2 * core::random_normal(seed, stream, static_cast<std::uint64_t>(j)));
  }
}

inline std::vector<double> values_of(const tensor::Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.rows; ++i)
    for (std::int64_t j = 0; j < tensor.cols; ++j) values.push_back(tensor::element(tensor, i, j));
  return values;
}

}  // namespace dragoman::testing
