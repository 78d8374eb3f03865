#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace dragoman::collective {

/// A subtree of the summation tree over the leaves 0 ... n - 1. It covers the leaves [index * 2^level, (index + 1) *
/// 2^level) that exist. Its value is the sum of its two halves, the left one first. If the right half is empty, its
/// value is the left half. So the tree, and with it the bits of the total, depends on n alone.
struct TreeNode {
  int level = 0;
  std::int64_t index = 0;
  bool operator==(const TreeNode&) const = default;
};

/// Consecutive leaves [begin, end).
struct LeafRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const noexcept { return end - begin; }
};

/// Returns the share of part `part` of `parts`. Shares are in order, and their sizes differ by at most one.
LeafRange share_of(std::int64_t leaves, int part, int parts);

/// Returns the largest complete subtrees that cover a range of leaves, from left to right. A share of 2^k leaves of a
/// power of two is one subtree.
std::vector<TreeNode> covering_nodes(LeafRange range);

/// Sums by the tree. It takes the values of adjacent subtrees from left to right, and adds two of them as soon as they
/// are the halves of a subtree. `Value` is a cheap handle of a value or buffer.
///
///     TreeSummation<double> sum;
///     const auto add = [](double left, double right) { return left + right; };
///     for (std::int64_t leaf = 0; leaf < 3; ++leaf) sum.push({.level = 0, .index = leaf}, 0.5, add);
///     std::cout << sum.finish(add);     // (0.5 + 0.5) + 0.5
///
/// One thread at a time.
template <class Value>
class TreeSummation {
 public:
  /// `add(left, right)` returns the handle of left + right.
  template <class Add>
  void push(TreeNode node, Value value, Add&& add) {
    stack_.emplace_back(node, std::move(value));
    while (stack_.size() > 1 && are_halves(stack_[stack_.size() - 2].first, stack_.back().first)) {
      const TreeNode parent{stack_.back().first.level + 1, stack_.back().first.index / 2};
      join_last(parent, add);
    }
  }

  /// Returns the total after the last push(). At least one value must have been pushed.
  template <class Add>
  Value finish(Add&& add) {
    while (stack_.size() > 1) join_last(stack_[stack_.size() - 2].first, add);
    Value sum = std::move(stack_.back().second);
    stack_.clear();
    return sum;
  }

  /// The values that have not been added yet, from left to right.
  const std::vector<std::pair<TreeNode, Value>>& waiting() const noexcept { return stack_; }
  /// The last value. There must be one.
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
