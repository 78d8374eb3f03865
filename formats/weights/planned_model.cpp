#include "weights/planned_model.h"

#include <dragoman/core/error.h>

namespace dragoman::imports {

void PlannedModel::read(const nn::Parameter& parameter, const tensor::Tensor& out) {
  const PlannedWeight* planned = find(plan_, parameter.name);
  core::require(planned != nullptr, core::ErrorCode::kInternal, "{}: no array of {} was planned for it", parameter.name,
                weights_->file());
  read_planned(*planned, *weights_, out);
}

}  // namespace dragoman::imports
