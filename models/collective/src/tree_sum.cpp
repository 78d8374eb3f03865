#include "dragoman/collective/tree_sum.h"

#include <algorithm>

namespace dragoman::collective {
namespace {

std::size_t nodes_of(std::int64_t leaves, int rank, int size) {
  return covering_nodes(share_of(leaves, rank, size)).size();
}

/// Vectors in host memory.
template <class T>
class HostPlace final : public SumPlace {
 public:
  HostPlace(Collective& collective, std::vector<std::byte>& scratch) : collective_(&collective), scratch_(&scratch) {}
  void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) override {
    collective_->exchange(outgoing, incoming);
  }
  std::byte* scratch(std::size_t bytes) override {
    scratch_->resize(bytes);
    return scratch_->data();
  }
  void add(Room left, Bytes right) override {
    T* const sum = reinterpret_cast<T*>(left.data());
    const T* const added = reinterpret_cast<const T*>(right.data());
    for (std::size_t i = 0; i < left.size() / sizeof(T); ++i) sum[i] += added[i];
  }
  void copy(Room to, Bytes from) override { std::ranges::copy(from, to.begin()); }

 private:
  Collective* collective_;
  std::vector<std::byte>* scratch_;
};

}  // namespace

void PlacedTreeSum::operator()(std::int64_t leaves, std::span<const Room> parts, Room result) {
  const auto length = static_cast<std::int64_t>(result.size() / number_bytes_);
  gather_parts(leaves, parts, length);
  add_segment(leaves, parts, share_of(length, rank_, size_), result);
  spread(result, length);
}

void PlacedTreeSum::gather_parts(std::int64_t leaves, std::span<const Room> parts, std::int64_t length) {
  const std::size_t own = static_cast<std::size_t>(share_of(length, rank_, size_).count()) * number_bytes_;
  std::size_t others = 0, rounds = 0;
  for (int r = 0; r < size_; ++r) {
    const std::size_t nodes = nodes_of(leaves, r, size_);
    rounds = std::max(rounds, nodes);
    if (r != rank_) others += nodes;
  }
  scratch_ = place_->scratch(others * own);
  // One exchange for the first node of each process, one for the second. So no values need to be copied next to each
  // other.
  std::byte* next = scratch_;
  for (std::size_t round = 0; round < rounds; ++round) {
    outgoing_.assign(static_cast<std::size_t>(size_), {});
    incoming_.assign(static_cast<std::size_t>(size_), {});
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      if (round < parts.size())
        outgoing_[static_cast<std::size_t>(r)] = part_of(parts[round], share_of(length, r, size_));
      if (round >= nodes_of(leaves, r, size_)) continue;
      incoming_[static_cast<std::size_t>(r)] = {next, own};
      next += own;
    }
    place_->exchange(outgoing_, incoming_);
  }
}

void PlacedTreeSum::add_segment(std::int64_t leaves, std::span<const Room> parts, LeafRange segment, Room result) {
  const std::size_t bytes = static_cast<std::size_t>(segment.count()) * number_bytes_;
  // The exchange has placed all first nodes by rank, then all second nodes.
  std::vector<std::vector<Room>> values(static_cast<std::size_t>(size_));
  for (const Room& part : parts) values[static_cast<std::size_t>(rank_)].push_back(part_of(part, segment));
  std::byte* next = scratch_;
  for (std::size_t round = 0, came = 1; came > 0; ++round) {
    came = 0;
    for (int r = 0; r < size_; ++r) {
      if (r == rank_ || round >= nodes_of(leaves, r, size_)) continue;
      values[static_cast<std::size_t>(r)].emplace_back(next, bytes);
      next += bytes;
      ++came;
    }
  }
  const auto add = [this](Room left, Room right) {
    if (!left.empty()) place_->add(left, right);
    return left;
  };
  TreeSummation<Room> summation;
  for (int r = 0; r < size_; ++r) {
    const std::vector<TreeNode> nodes = covering_nodes(share_of(leaves, r, size_));
    for (std::size_t i = 0; i < nodes.size(); ++i)
      summation.push(nodes[i], values[static_cast<std::size_t>(r)][i], add);
  }
  const Room sum = summation.finish(add);
  const Room to = part_of(result, segment);
  if (sum.data() != to.data() && !to.empty()) place_->copy(to, sum);
}

void PlacedTreeSum::spread(Room result, std::int64_t length) {
  const Room own = part_of(result, share_of(length, rank_, size_));
  outgoing_.assign(static_cast<std::size_t>(size_), own);
  incoming_.assign(static_cast<std::size_t>(size_), {});
  for (int r = 0; r < size_; ++r)
    if (r != rank_) incoming_[static_cast<std::size_t>(r)] = part_of(result, share_of(length, r, size_));
  outgoing_[static_cast<std::size_t>(rank_)] = {};
  place_->exchange(outgoing_, incoming_);
}

Collective::Room PlacedTreeSum::part_of(Room values, LeafRange range) const {
  return values.subspan(static_cast<std::size_t>(range.begin) * number_bytes_,
                        static_cast<std::size_t>(range.count()) * number_bytes_);
}

template <class T>
void TreeSum::operator()(std::int64_t leaves, std::span<const std::span<T>> parts, std::span<T> result) {
  HostPlace<T> place(*collective_, scratch_);
  PlacedTreeSum sum(collective_->rank(), collective_->size(), place, sizeof(T));
  std::vector<Collective::Room> rooms;
  for (const std::span<T>& part : parts) rooms.push_back(room_of(part));
  sum(leaves, rooms, room_of(result));
}

template void TreeSum::operator()(std::int64_t, std::span<const std::span<float>>, std::span<float>);
template void TreeSum::operator()(std::int64_t, std::span<const std::span<double>>, std::span<double>);

}  // namespace dragoman::collective
