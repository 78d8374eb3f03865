#include "dragoman/decoding/step_model.h"

namespace dragoman::decoding {

StepModel::~StepModel() = default;

}  // namespace dragoman::decoding
