#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dragoman/collective/collective.h>
#include <dragoman/collective/summation_tree.h>

namespace dragoman::collective {

/// The memory in which vectors are summed. It defines how values are exchanged between processes and how they are
/// added. Addresses may be device addresses.
class SumPlace {
 public:
  using Bytes = Collective::Bytes;
  using Room = Collective::Room;
  virtual ~SumPlace() = default;
  /// Like Collective::exchange().
  virtual void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) = 0;
  /// Returns `bytes` bytes of scratch memory, valid until the next call.
  virtual std::byte* scratch(std::size_t bytes) = 0;
  /// left += right, element by element. Both have the same length.
  virtual void add(Room left, Bytes right) = 0;
  /// Copies bytes. Both have the same length.
  virtual void copy(Room to, Bytes from) = 0;
};

/// Sums vectors, one for each leaf, by the tree of summation_tree.h over all processes. Each process has a share of the
/// leaves (share_of) and provides the sums of its covering_nodes.
///
/// Every process adds one segment of the vectors for all (a reduce-scatter), and then sends the sum to the others (an
/// all-gather). Each process transfers two vectors' length in each direction, for any number of processes. The result
/// has the same bits for any number of processes, wherever the values are added.
///
/// One thread at a time.
class PlacedTreeSum {
 public:
  using Bytes = Collective::Bytes;
  using Room = Collective::Room;
  /// `place` must outlive this object. An element has `number_bytes` bytes.
  PlacedTreeSum(int rank, int size, SumPlace& place, std::size_t number_bytes)
      : rank_(rank), size_(size), place_(&place), number_bytes_(number_bytes) {}

  /// `parts` are the values of this process's covering nodes, in order and of equal length. They are overwritten.
  /// `result`, of the same length, receives the sum. It may be one of the parts.
  void operator()(std::int64_t leaves, std::span<const Room> parts, Room result);

 private:
  void gather_parts(std::int64_t leaves, std::span<const Room> parts, std::int64_t length);
  void add_segment(std::int64_t leaves, std::span<const Room> parts, LeafRange segment, Room result);
  void spread(Room result, std::int64_t length);
  Room part_of(Room values, LeafRange range) const;

  int rank_;
  int size_;
  SumPlace* place_;
  std::size_t number_bytes_;
  std::byte* scratch_ = nullptr;
  std::vector<Bytes> outgoing_;
  std::vector<Room> incoming_;
};

/// A PlacedTreeSum of values in host memory. It keeps its scratch memory, so sums of equal lengths allocate nothing.
///     void sum(Collective& ranks, std::span<float> gradients) {     // one leaf for each process
///       const std::array parts{gradients};
///       TreeSum add(ranks);
///       add(ranks.size(), std::span<const std::span<float>>(parts), gradients);
///     }
///
/// One thread at a time. The collective must outlive the object.
class TreeSum {
 public:
  explicit TreeSum(Collective& collective) : collective_(&collective) {}

  /// See PlacedTreeSum. Instantiated for float and double.
  template <class T>
  void operator()(std::int64_t leaves, std::span<const std::span<T>> parts, std::span<T> result);

 private:
  Collective* collective_;
  std::vector<std::byte> scratch_;
};

}  // namespace dragoman::collective
