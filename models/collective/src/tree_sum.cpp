#include "dragoman/collective/tree_sum.h"

#include <algorithm>

namespace dragoman::collective {
namespace {

template <class T>
std::span<T> part_of(std::span<T> values, LeafRange range) {
  return values.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.count()));
}

std::size_t nodes_of(std::int64_t leaves, int rank, int size) {
  return covering_nodes(share_of(leaves, rank, size)).size();
}

}  // namespace

template <class T>
void TreeSum::operator()(std::int64_t leaves, std::span<const std::span<T>> parts, std::span<T> result) {
  const int rank = collective_->rank(), size = collective_->size();
  const auto length = static_cast<std::int64_t>(result.size());
  const LeafRange own = share_of(length, rank, size);
  std::size_t others = 0, rounds = 0;
  for (int r = 0; r < size; ++r) {
    const std::size_t nodes = nodes_of(leaves, r, size);
    rounds = std::max(rounds, nodes);
    if (r != rank) others += nodes;
  }
  scratch_.resize(others * static_cast<std::size_t>(own.count()) * sizeof(T));
  // One exchange for the first node of each, one for the second: nothing is copied to stand side by side.
  std::size_t filled = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    outgoing_.assign(static_cast<std::size_t>(size), {});
    incoming_.assign(static_cast<std::size_t>(size), {});
    for (int r = 0; r < size; ++r) {
      if (r == rank) continue;
      if (round < parts.size())
        outgoing_[static_cast<std::size_t>(r)] = std::as_bytes(part_of(parts[round], share_of(length, r, size)));
      if (round >= nodes_of(leaves, r, size)) continue;
      const std::size_t bytes = static_cast<std::size_t>(own.count()) * sizeof(T);
      incoming_[static_cast<std::size_t>(r)] = std::span(scratch_).subspan(filled, bytes);
      filled += bytes;
    }
    collective_->exchange(outgoing_, incoming_);
  }
  add_segment(leaves, parts, own, result);
  outgoing_.assign(static_cast<std::size_t>(size), std::as_bytes(part_of(result, own)));
  incoming_.assign(static_cast<std::size_t>(size), {});
  for (int r = 0; r < size; ++r)
    if (r != rank)
      incoming_[static_cast<std::size_t>(r)] = std::as_writable_bytes(part_of(result, share_of(length, r, size)));
  outgoing_[static_cast<std::size_t>(rank)] = {};
  collective_->exchange(outgoing_, incoming_);
}

template <class T>
void TreeSum::add_segment(std::int64_t leaves, std::span<const std::span<T>> parts, LeafRange segment,
                          std::span<T> result) {
  const int rank = collective_->rank(), size = collective_->size();
  const auto count = static_cast<std::size_t>(segment.count());
  // Where the exchange has put what came: all first nodes by rank, then all second ones.
  std::vector<std::vector<std::span<T>>> values(static_cast<std::size_t>(size));
  for (const std::span<T>& part : parts) values[static_cast<std::size_t>(rank)].push_back(part_of(part, segment));
  T* next = reinterpret_cast<T*>(scratch_.data());
  for (std::size_t round = 0, came = 1; came > 0; ++round) {
    came = 0;
    for (int r = 0; r < size; ++r) {
      if (r == rank || round >= nodes_of(leaves, r, size)) continue;
      values[static_cast<std::size_t>(r)].push_back({next, count});
      next += count;
      ++came;
    }
  }
  const auto add = [](std::span<T> left, std::span<T> right) {
    for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
    return left;
  };
  TreeSummation<std::span<T>> summation;
  for (int r = 0; r < size; ++r) {
    const std::vector<TreeNode> nodes = covering_nodes(share_of(leaves, r, size));
    for (std::size_t i = 0; i < nodes.size(); ++i)
      summation.push(nodes[i], values[static_cast<std::size_t>(r)][i], add);
  }
  const std::span<T> sum = summation.finish(add);
  const std::span<T> to = part_of(result, segment);
  if (sum.data() != to.data()) std::ranges::copy(sum, to.begin());
}

template void TreeSum::operator()(std::int64_t, std::span<const std::span<float>>, std::span<float>);
template void TreeSum::operator()(std::int64_t, std::span<const std::span<double>>, std::span<double>);

}  // namespace dragoman::collective
