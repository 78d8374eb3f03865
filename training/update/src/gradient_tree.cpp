#include "update/gradient_tree.h"

#include <algorithm>

#include <dragoman/ops/elementwise.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {

using tensor::Tensor;

void GradientTree::begin() {
  summation_.clear();
  free_.clear();
  for (Slot slot = buffers_.size(); slot > 0; --slot) free_.push_back(slot - 1);
}

void GradientTree::keep(std::int64_t leaf) {
  std::vector<Tensor> added;
  // The newest sum is to the right of all others; a + b and b + a have equal bits.
  summation_.push({0, leaf}, kGradients, [&](Slot left, Slot right) {
    added.push_back(sum_in(left));
    free_.push_back(left);
    return right;
  });
  add_to_gradients(added);
  const Slot slot = take_slot();
  tensor::queue_copy(context_->memory(), sum_in(slot), parameters_->flat_gradients());
  summation_.last() = slot;
}

GradientTree::LastLeaf GradientTree::last(std::int64_t leaf) {
  LastLeaf result;
  summation_.push({0, leaf}, kGradients, [&](Slot left, Slot right) {
    result.added.push_back(sum_in(left));
    return right;
  });
  for (const auto& [node, slot] : summation_.waiting())
    if (slot != kGradients) result.waiting.push_back(sum_in(slot));
  return result;
}

void GradientTree::add_to_gradients(const std::vector<Tensor>& sums) {
  if (sums.empty()) return;
  context_->step([&] {
    for (const Tensor& sum : sums)
      context_->kernels().get(ops::kScale)(*context_, {sum, 1, parameters_->flat_gradients(), true});
  });
}

GradientTree::Slot GradientTree::take_slot() {
  if (free_.empty()) {
    const Tensor flat = parameters_->flat_gradients();
    buffers_.emplace_back(context_->memory(), tensor::bytes_of(flat));
    return buffers_.size() - 1;
  }
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

Tensor GradientTree::sum_in(Slot slot) const {
  Tensor sum = parameters_->flat_gradients();
  sum.data = buffers_[slot].data();
  return sum;
}

}  // namespace dragoman::training
