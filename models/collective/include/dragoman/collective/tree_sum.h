#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dragoman/collective/collective.h>
#include <dragoman/collective/summation_tree.h>

namespace dragoman::collective {

/// The memory in which vectors are summed: how numbers get from one process to another there, and how they are added.
/// Addresses may be those of a device.
class SumPlace {
 public:
  using Bytes = Collective::Bytes;
  using Room = Collective::Room;
  virtual ~SumPlace() = default;
  /// As Collective::exchange().
  virtual void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) = 0;
  /// So many bytes, until the next call.
  virtual std::byte* scratch(std::size_t bytes) = 0;
  /// left += right, number by number; as long as each other.
  virtual void add(Room left, Bytes right) = 0;
  virtual void copy(Room to, Bytes from) = 0;
};

/// Sums vectors of numbers, one for each of a number of leaves, by the tree of summation_tree.h over all processes.
/// Each process has a share of the leaves (share_of) and brings the sums of its covering_nodes. Every process adds one
/// segment of the vectors for all (a reduce-scatter), and then gives the sum to the others (an all-gather): two
/// vectors' length each way for any number of processes, and the same bits for any, wherever they are added.
///
/// One thread at a time.
class PlacedTreeSum {
 public:
  using Bytes = Collective::Bytes;
  using Room = Collective::Room;
  /// `place` must outlive it; a number has `number_bytes` there.
  PlacedTreeSum(int rank, int size, SumPlace& place, std::size_t number_bytes)
      : rank_(rank), size_(size), place_(&place), number_bytes_(number_bytes) {}

  /// `parts` are the values of this process's covering nodes, in order: all equally long; they are written to.
  /// `result`, as long, takes the sum; it may be one of the parts.
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

/// The same of numbers in the host's memory.
///
/// Keeps its scratch, so that sums of equal lengths allocate nothing. One thread at a time.
class TreeSum {
 public:
  explicit TreeSum(Collective& collective) : collective_(&collective) {}

  /// As PlacedTreeSum. Instantiated for float and double.
  template <class T>
  void operator()(std::int64_t leaves, std::span<const std::span<T>> parts, std::span<T> result);

 private:
  Collective* collective_;
  std::vector<std::byte> scratch_;
};

}  // namespace dragoman::collective
