#include "dragoman/decoding/step_model.h"

namespace dragoman::decoding {

PendingStep::~PendingStep() = default;
StepModel::~StepModel() = default;

}  // namespace dragoman::decoding
