#pragma once

#include "forced_targets.h"

#include <vector>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/softmax.h>

namespace dragoman::decoding {

/// The outputs of a model for a batch by teacher forcing, in the step memory of its context.
struct ForcedPass {
  nn::Encoding encoding;
  nn::Decoding decoding;
  nn::Tensor log_probabilities;  ///< [T, V]: of the successors of each decoder input
};

/// Runs a separate step. Whole distributions have one value per vocabulary entry for each token, so batches must be
/// small.
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
