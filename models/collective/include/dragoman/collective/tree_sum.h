#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dragoman/collective/collective.h>
#include <dragoman/collective/summation_tree.h>

namespace dragoman::collective {

/// Sums vectors of numbers, one for each of a number of leaves, by the tree of summation_tree.h over all processes.
/// Each process has a share of the leaves (share_of) and brings the sums of its covering_nodes. Every process adds one
/// segment of the vectors for all (a reduce-scatter), and then gives the sum to the others (an all-gather): two
/// vectors' length each way for any number of processes, and the same bits for any.
///
/// Keeps its scratch, so that sums of equal lengths allocate nothing. One thread at a time.
class TreeSum {
 public:
  explicit TreeSum(Collective& collective) : collective_(&collective) {}

  /// `parts` are the values of this process's covering nodes, in order: all equally long, in host memory; they are
  /// written to. `result`, as long, takes the sum; it may be one of the parts. Instantiated for float and double.
  template <class T>
  void operator()(std::int64_t leaves, std::span<const std::span<T>> parts, std::span<T> result);

 private:
  template <class T>
  void add_segment(std::int64_t leaves, std::span<const std::span<T>> parts, LeafRange segment, std::span<T> result);

  Collective* collective_;
  std::vector<std::byte> scratch_;
  std::vector<Collective::Bytes> outgoing_;
  std::vector<Collective::Room> incoming_;
};

}  // namespace dragoman::collective
