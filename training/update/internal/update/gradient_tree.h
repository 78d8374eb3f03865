#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/collective/summation_tree.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/context.h>

namespace dragoman::training {

/// Sums the gradients of this process's micro-batches by the fixed tree (collective/summation_tree.h). The newest sum
/// is in the flat gradients of a store. Sums that wait for others are in buffers of the same size, at most log2 of the
/// number of micro-batches. Both references must outlive the object.
class GradientTree {
 public:
  GradientTree(nn::ParameterStore& parameters, tensor::Context& context)
      : parameters_(&parameters), context_(&context) {}

  /// Drops the sums of the last update.
  void begin();
  /// Stores the flat gradients as those of micro-batch `leaf`, so that they may be overwritten. Leaves come in order.
  void keep(std::int64_t leaf);
  /// The sums that remain after the last micro-batch. First the sums `added` are added to its gradients, one by one.
  /// The result and the sums `waiting` before it, from left to right, belong to the covering_nodes of this process.
  struct LastLeaf {
    std::vector<tensor::Tensor> added;
    std::vector<tensor::Tensor> waiting;
  };
  LastLeaf last(std::int64_t leaf);
  /// Adds all `sums` to the flat gradients, one after the other.
  void add_to_gradients(const std::vector<tensor::Tensor>& sums);

 private:
  using Slot = std::size_t;
  /// The flat gradients. Other slots are indices of buffers.
  static constexpr Slot kGradients = static_cast<Slot>(-1);

  Slot take_slot();
  tensor::Tensor sum_in(Slot slot) const;

  nn::ParameterStore* parameters_;
  tensor::Context* context_;
  collective::TreeSummation<Slot> summation_;
  std::vector<tensor::Buffer> buffers_;
  std::vector<Slot> free_;
};

}  // namespace dragoman::training
