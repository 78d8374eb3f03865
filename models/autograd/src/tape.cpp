#include "dragoman/autograd/tape.h"

#include <dragoman/core/error.h>

namespace dragoman::autograd {

void Tape::backward(Context& context) {
  std::int64_t left = std::exchange(count_, 0);
  if (progress_) progress_(left);
  for (NodeBase* node = std::exchange(last_, nullptr); node != nullptr; node = node->previous) {
    if (node->output == nullptr || node->output->written) node->run(node, context);
    --left;
    if (progress_) progress_(left);
  }
}

Variable make_variable(Context& context, const Tensor& value, bool wanted) {
  if (!wanted) return {value, nullptr};
  auto* gradient = new (context.host_arena().allocate(sizeof(Gradient))) Gradient{{}, value.rows, value.cols, false};
  return {value, gradient};
}

GradientTarget target_of(Context& context, Gradient& gradient) {
  if (gradient.taken)
    core::fail(core::ErrorCode::kInternal,
               "a gradient [{}, {}] is written after it was taken as complete: an op records what writes it without "
               "naming it to recording()",
               gradient.rows, gradient.cols);
  if (gradient.value.empty()) gradient.value = context.allocate(gradient.rows, gradient.cols);
  return {gradient.value, std::exchange(gradient.written, true)};
}

void seed_gradient(Context& context, const Variable& variable, const Tensor& seed) {
  core::require(variable.needs_gradient(), core::ErrorCode::kInvalidArgument,
                "the seeded variable records no gradient");
  tensor::require_shape(seed, variable.value.rows, variable.value.cols, "the seed");
  static_cast<void>(context);
  variable.gradient->value = seed;
  variable.gradient->written = true;
}

}  // namespace dragoman::autograd
