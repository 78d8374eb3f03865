#pragma once

#include "forced_targets.h"

#include <vector>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/softmax.h>

namespace dragoman::decoding {

/// What a model makes of a batch by teacher forcing, in step memory of its context.
struct ForcedPass {
  nn::Encoding encoding;
  nn::Decoding decoding;
  nn::Tensor log_probabilities;  ///< [T, V]: of what may follow each decoder input
};

/// In a step of its own. The whole distributions are as many numbers as the vocabulary for each token: small batches.
inline ForcedPass forced_pass(const nn::Seq2SeqModel& model, tensor::Context& context,
                              const tensor::RaggedTokens& sources, const ForcedTargets& targets, bool all_layers) {
  ForcedPass pass;
  context.step([&] {
    pass.encoding = model.encode(context, sources, all_layers);
    const std::vector<nn::KeyValue> memories = model.memories(context, pass.encoding);
    nn::WholeState state(memories, pass.encoding.offsets, model.parameters().compute_type());
    pass.decoding = model.decode(context, tensor::RaggedTokens{targets.inputs, targets.offsets}, state, all_layers);
    const ops::Projection output = model.output();
    const nn::Variable logits =
        ops::linear(context, {pass.decoding.states.value, nullptr},
                    {{output.weight.value.value, nullptr}, output.weight.packed}, {output.bias.value, nullptr});
    pass.log_probabilities = ops::log_softmax(context, logits).value;
  });
  return pass;
}

}  // namespace dragoman::decoding
