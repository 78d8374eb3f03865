#include "dragoman/tensor/backend.h"

namespace dragoman::tensor {

Backend::~Backend() = default;

}  // namespace dragoman::tensor
