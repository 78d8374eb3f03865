#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/collective/summation_tree.h>

namespace dragoman::collective {
namespace {

/// A sum spelled out, so that another order is another value.
std::string add(const std::string& left, const std::string& right) {
  return "(" + left + "+" + right + ")";
}

std::string sum_of(std::int64_t leaves) {
  TreeSummation<std::string> summation;
  for (std::int64_t i = 0; i < leaves; ++i) summation.push({0, i}, std::to_string(i), add);
  return summation.finish(add);
}

TEST(SummationTree, IsTheOneThatItsDefinitionSays) {
  EXPECT_EQ(sum_of(1), "0");
  EXPECT_EQ(sum_of(2), "(0+1)");
  EXPECT_EQ(sum_of(3), "((0+1)+2)");
  EXPECT_EQ(sum_of(4), "((0+1)+(2+3))");
  EXPECT_EQ(sum_of(7), "(((0+1)+(2+3))+((4+5)+6))");
}

TEST(SummationTree, IsTheSameHoweverTheLeavesAreShared) {
  for (std::int64_t leaves = 1; leaves <= 40; ++leaves) {
    for (int parts = 1; parts <= 9; ++parts) {
      TreeSummation<std::string> all;
      std::int64_t next = 0;
      for (int part = 0; part < parts; ++part) {
        const LeafRange range = share_of(leaves, part, parts);
        ASSERT_EQ(range.begin, next);
        next = range.end;
        // What one process makes of its leaves, ...
        TreeSummation<std::string> own;
        for (std::int64_t i = range.begin; i < range.end; ++i) own.push({0, i}, std::to_string(i), add);
        const std::vector<TreeNode> nodes = covering_nodes(range);
        ASSERT_EQ(own.waiting().size(), nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          ASSERT_EQ(own.waiting()[i].first, nodes[i]);
          // ... and what is made of that.
          all.push(nodes[i], own.waiting()[i].second, add);
        }
      }
      ASSERT_EQ(next, leaves);
      ASSERT_EQ(all.finish(add), sum_of(leaves)) << leaves << " leaves in " << parts << " parts";
    }
  }
}

TEST(SummationTree, EqualSharesOfPowersOfTwoAreOneNodeEach) {
  for (const int parts : {1, 2, 4, 8})
    for (int part = 0; part < parts; ++part) EXPECT_EQ(covering_nodes(share_of(16, part, parts)).size(), 1U);
  EXPECT_THAT(covering_nodes({3, 3}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace dragoman::collective
