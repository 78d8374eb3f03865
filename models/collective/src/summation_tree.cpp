#include "dragoman/collective/summation_tree.h"

namespace dragoman::collective {

LeafRange share_of(std::int64_t leaves, int part, int parts) {
  return {leaves * part / parts, leaves * (part + 1) / parts};
}

std::vector<TreeNode> covering_nodes(LeafRange range) {
  std::vector<TreeNode> nodes;
  while (range.begin < range.end) {
    TreeNode node{0, range.begin};
    while (node.index % 2 == 0 && ((node.index / 2 + 1) << (node.level + 1)) <= range.end)
      node = {node.level + 1, node.index / 2};
    nodes.push_back(node);
    range.begin = (node.index + 1) << node.level;
  }
  return nodes;
}

}  // namespace dragoman::collective
