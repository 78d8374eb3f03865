#include "dragoman/tensor/backend.h"

namespace dragoman::tensor {

Backend::~Backend() = default;

std::unique_ptr<StepRecorder> Backend::make_recorder(Context&) const {
  return nullptr;
}

}  // namespace dragoman::tensor
