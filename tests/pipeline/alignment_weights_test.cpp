#include "dragoman/pipeline/alignment_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(JoinPieces, TakesTheMeanOfRowsAndTheSumOfColumns) {
  const AlignmentWeights pieces{2, 3, {0.1, 0.2, 0.4, 0.3, 0.6, 0.0}};
  // Both rows are of one word; the columns are of the words 0, 0 and (half each) 0 and 1.
  const AlignmentWeights words = join_pieces(pieces, {{0, 1}, {0, 1}}, 1, {{0, 1}, {0, 1}, {0, 2}}, 2);
  ASSERT_EQ(words.rows, 1);
  ASSERT_EQ(words.cols, 2);
  EXPECT_NEAR(words.at(0, 0), (0.1 + 0.2 + 0.2 + 0.3 + 0.6) / 2, 1e-12);
  EXPECT_NEAR(words.at(0, 1), 0.2 / 2, 1e-12);
}

TEST(Strongest, AreTheFirstBestOfEachRowOrAllAboveTheThreshold) {
  const AlignmentWeights weights{2, 3, {0.2, 0.5, 0.5, 0.1, 0.0, 0.4}};
  EXPECT_THAT(strongest(weights, 0), ElementsAre(Pair(0, 1), Pair(1, 2)));
  EXPECT_THAT(strongest(weights, 0.4), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
  EXPECT_TRUE(strongest({2, 0, {}}, 0).empty());
}

}  // namespace
}  // namespace dragoman::pipeline
