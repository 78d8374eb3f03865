#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dragoman/plugins/registrar.h>

namespace dragoman::testing {

/// What can be wrong with a model. Most of these stood in published teaching material or in bug reports.
enum class Fault {
  kNone,
  kWrongGradient,        ///< an op of its own whose backward function forgets a factor
  kDetachedParameter,    ///< a parameter's value is used, its gradient is not
  kUnusedParameter,      ///< a parameter that nothing reads
  kPositionOffByOne,     ///< steps number the positions from 1, the whole pass from 0
  kPrefixAtOnePosition,  ///< all tokens of a forced prefix get the position of the first
  kBatchNormalisation,   ///< the mean over all tokens of the batch is taken off
  kStateByRow,           ///< the recurrent cell stays in the row where it was, whoever the parent is
  kSeesTheFuture,        ///< self-attention of the whole pass is not causal
  kIgnoresSource,        ///< no attention to the source
  kForgetsHistory,       ///< no attention to the own history, no recurrent cell
  kScaleInTrainingOnly,  ///< the embedding scale is missing at inference
  kCounts,               ///< every call adds a little
  kUnsavedValue,         ///< a constant is drawn when the model is made, and not saved
  kForgetfulConfig,      ///< config() leaves out the width
  kAlignsElsewhere,      ///< alignment_heads() names a memory that nothing attends to
  kWrongCpuKernel,       ///< an op of its own whose CPU kernel is wrong
  kThrows,               ///< every step throws
};

std::string name_of(Fault fault);
const std::vector<Fault>& all_faults();

/// A small model with every kind of state: embeddings with scale and position, causal self-attention, a recurrent cell,
/// attention to the source. With kNone it is right.
plugins::ModelEntry teaching_model(Fault fault);

/// Adds the kernels of its own op.
void add_teaching_kernels(plugins::Registrar& registrar);

}  // namespace dragoman::testing
