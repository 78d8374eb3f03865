#pragma once

#include "data/batch_source.h"

#include <string>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/training/config.h>
#include <dragoman/training/training_state.h>

namespace dragoman::training {

/// The inputs of an update's computation.
struct UpdateInputs {
  const TrainConfig& recipe;
  nn::Seq2SeqModel& model;
  bool aligned;  ///< whether the training data has word alignments
  BatchSource& batches;
  const tensor::Context& context;      ///< of the run
  const tensor::KernelTable& kernels;  ///< of its device
};

/// Describes, for messages, where the gradient of the update after `state` first becomes non-finite: a parameter, or
/// the first op of a forward or backward pass with such a result. The update is computed again while the results of
/// each op are checked. Overwrites the gradients.
std::string first_non_finite(const UpdateInputs& inputs, const TrainingState& state);

/// Returns, for messages, the first parameter with a non-finite value.
std::string first_non_finite_parameter(const nn::ParameterStore& parameters);

}  // namespace dragoman::training
