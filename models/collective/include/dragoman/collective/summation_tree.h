#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace dragoman::collective {

/// A subtree of the tree by which things 0 ... n - 1 are summed: that of the things [index * 2^level, (index + 1) *
/// 2^level), as far as there are so many. Its value is the sum of its two halves, the left one first; where the right
/// one is empty, it is the left one. So the tree is a function of n alone, and so are the bits of the sum of all.
struct TreeNode {
  int level = 0;
  std::int64_t index = 0;
  bool operator==(const TreeNode&) const = default;
};

/// Consecutive things [begin, end).
struct LeafRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const noexcept { return end - begin; }
};

/// The share of one of `parts`: shares differ by one at most, and stand in order.
LeafRange share_of(std::int64_t leaves, int part, int parts);

/// The whole subtrees, from left to right, in which the sums of the leaves of a range can be put, as many levels up as
/// possible. For a share of 2^k leaves out of a power of two it is one.
std::vector<TreeNode> covering_nodes(LeafRange range);

/// Sums by the tree: takes the values of subtrees that stand side by side, from left to right, and adds two as soon as
/// they are the halves of a third. `Value` is something cheap that names a number or a buffer.
template <class Value>
class TreeSummation {
 public:
  /// `add(left, right)` returns what names left + right.
  template <class Add>
  void push(TreeNode node, Value value, Add&& add) {
    stack_.emplace_back(node, std::move(value));
    while (stack_.size() > 1 && are_halves(stack_[stack_.size() - 2].first, stack_.back().first)) {
      const TreeNode parent{stack_.back().first.level + 1, stack_.back().first.index / 2};
      join_last(parent, add);
    }
  }

  /// The sum of all, when the last one is there; there must have been one.
  template <class Add>
  Value finish(Add&& add) {
    while (stack_.size() > 1) join_last(stack_[stack_.size() - 2].first, add);
    Value sum = std::move(stack_.back().second);
    stack_.clear();
    return sum;
  }

  /// What has not been added yet, from left to right.
  const std::vector<std::pair<TreeNode, Value>>& waiting() const noexcept { return stack_; }
  /// The value that stands last; there must be one.
  Value& last() noexcept { return stack_.back().second; }
  void clear() noexcept { stack_.clear(); }

 private:
  static bool are_halves(const TreeNode& left, const TreeNode& right) {
    return left.level == right.level && left.index % 2 == 0 && right.index == left.index + 1;
  }

  template <class Add>
  void join_last(TreeNode node, Add&& add) {
    Value right = std::move(stack_.back().second);
    stack_.pop_back();
    Value sum = add(std::move(stack_.back().second), std::move(right));
    stack_.back() = {node, std::move(sum)};
  }

  std::vector<std::pair<TreeNode, Value>> stack_;
};

}  // namespace dragoman::collective
