#include "dragoman/autograd/tape.h"

#include <tuple>

#include <dragoman/core/error.h>

namespace dragoman::autograd {

namespace {

using tensor::Arena;

bool is_wanted(const Tape::Outputs& outputs) {
  return outputs.first == nullptr || outputs.first->written || (outputs.second != nullptr && outputs.second->written);
}

std::size_t bytes_of_gradient(const Gradient& gradient) {
  return static_cast<std::size_t>(gradient.rows * gradient.cols) * tensor::size_of(gradient.value.dtype);
}

void recycle(Context& context, Gradient* gradient) {
  if (gradient == nullptr || !gradient->recycled) return;
  training_mode(context).gradient_memory().release(gradient->value.data, bytes_of_gradient(*gradient));
  gradient->value = {};
  gradient->recycled = false;
}

void allocate(Context& context, Gradient& gradient) {
  gradient.value = {nullptr, gradient.rows, gradient.cols, gradient.cols, context.float_type(), context.device()};
  gradient.value.data = training_mode(context).gradient_memory().allocate(bytes_of_gradient(gradient));
  gradient.recycled = true;
}

bool is_before(const Arena::Mark& a, const Arena::Mark& b) {
  return std::tie(a.block, a.used) < std::tie(b.block, b.used);
}

/// Lends the memory of values to the gradients, op by op from last to first.
class SpentMemory {
 public:
  SpentMemory(Context& context, const Tape::Values& spent)
      : arena_(context.arena()), gradients_(training_mode(context).gradient_memory()), spent_(spent) {
    each_part(spent.begin, [&](char* data, std::size_t bytes) { gradients_.lend(data, bytes); });
  }
  /// Everything after `mark` has been used for the last time.
  void release_after(const Arena::Mark& mark) {
    const Arena::Mark& begin = is_before(mark, spent_.begin) ? spent_.begin : mark;
    if (!is_before(begin, spent_.end)) return;
    each_part(begin, [&](char* data, std::size_t bytes) { gradients_.release(data, bytes); });
    spent_.end = begin;
  }

 private:
  template <class Take>
  void each_part(const Arena::Mark& begin, const Take& take) const {
    if (is_before(begin, spent_.end)) arena_.for_each_part(begin, spent_.end, take);
  }

  const Arena& arena_;
  tensor::FreeListArena& gradients_;
  Tape::Values spent_;
};

}  // namespace

void Tape::backward(Context& context, const Values& spent) {
  SpentMemory memory(context, spent);
  std::int64_t left = std::exchange(count_, 0);
  if (progress_) progress_(left);
  for (NodeBase* node = std::exchange(last_, nullptr); node != nullptr; node = node->previous) {
    if (is_wanted(node->outputs)) {
      const tensor::ScratchScope scratch(context.arena());
      node->run(node, context);
      recycle(context, node->outputs.first);
      recycle(context, node->outputs.second);
    }
    memory.release_after(node->previous == nullptr ? spent.begin : node->previous->allocated);
    --left;
    if (progress_) progress_(left);
  }
}

Variable make_variable(Context& context, const Tensor& value, bool wanted) {
  if (!wanted) return {value, nullptr};
  auto* gradient =
      new (context.host_arena().allocate(sizeof(Gradient))) Gradient{.rows = value.rows, .cols = value.cols};
  return {value, gradient};
}

GradientTarget target_of(Context& context, Gradient& gradient) {
  if (gradient.taken)
    core::fail(core::ErrorCode::kInternal,
               "a gradient [{}, {}] is written after it was taken as complete: an op records what writes it without "
               "naming it to recording()",
               gradient.rows, gradient.cols);
  if (gradient.value.empty() && gradient.whole != nullptr) {
    Gradient& whole = *gradient.whole;
    if (whole.value.empty()) allocate(context, whole);
    gradient.value = whole.value.col_range(gradient.first_column, gradient.first_column + gradient.cols);
  }
  if (gradient.value.empty()) allocate(context, gradient);
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
