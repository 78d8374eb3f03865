#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/collective/summation_tree.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/context.h>

namespace dragoman::training {

/// The sums of the gradients of the micro-batches that this process has, by the fixed tree
/// (collective/summation_tree.h). The newest is in the flat gradients of a store; sums that wait for others are kept in
/// buffers as large, log2 of the micro-batches at most. Both references must outlive it.
class GradientTree {
 public:
  GradientTree(nn::ParameterStore& parameters, tensor::Context& context)
      : parameters_(&parameters), context_(&context) {}

  /// Forgets what the last update left.
  void begin();
  /// Takes the flat gradients as those of micro-batch `leaf`, which come in order, and keeps them: they may be
  /// overwritten.
  void keep(std::int64_t leaf);
  /// What remains to be done for the last micro-batch: first the sums `added` are added to its gradients, one by one;
  /// that and the sums `waiting` before it, left to right, are those of the covering_nodes of this process.
  struct LastLeaf {
    std::vector<tensor::Tensor> added;
    std::vector<tensor::Tensor> waiting;
  };
  LastLeaf last(std::int64_t leaf);
  /// Adds all `sums` to the flat gradients, one after the other.
  void add_to_gradients(const std::vector<tensor::Tensor>& sums);

 private:
  using Slot = std::size_t;
  /// The flat gradients; other slots are numbers of buffers.
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
