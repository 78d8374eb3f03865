#include "dragoman/ops/update_rules.h"

#include "check.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {

void lion(Context& context, const LionArguments& arguments) {
  require_same_shape("lion", arguments.parameters, arguments.gradients);
  require_same_shape("lion", arguments.parameters, arguments.first_moment);
  context.kernels().get(kLion)(context, arguments);
}

void sgd(Context& context, const SgdArguments& arguments) {
  require_same_shape("sgd", arguments.parameters, arguments.gradients);
  if (arguments.momentum != 0) require_same_shape("sgd", arguments.parameters, arguments.first_moment);
  context.kernels().get(kSgd)(context, arguments);
}

void adafactor(Context& context, const AdafactorArguments& arguments) {
  const Tensor& p = arguments.parameters;
  require_same_shape("adafactor", p, arguments.gradients);
  if (p.size() == 0) return;
  if (arguments.second_moment.empty()) {
    tensor::require_shape(arguments.row_moment, 1, p.rows, "adafactor: the moments of the rows");
    tensor::require_shape(arguments.column_moment, 1, p.cols, "adafactor: the moments of the columns");
  } else {
    require_same_shape("adafactor", p, arguments.second_moment);
  }
  context.kernels().get(kAdafactor)(context, arguments);
}

void clip_values(Context& context, const Tensor& x, double limit) {
  if (!(limit > 0))
    core::fail(core::ErrorCode::kInvalidArgument, "clip_values: the limit must be more than 0, not {}", limit);
  context.kernels().get(kClipValues)(context, {x, limit});
}

}  // namespace dragoman::ops
