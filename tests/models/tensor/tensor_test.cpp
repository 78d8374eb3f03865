#include <array>
#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tensor/ragged.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {
namespace {

class TensorTest : public ::testing::Test {
 protected:
  TensorTest() {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i);
  }
  std::array<float, 24> values_{};
  Tensor whole_{values_.data(), 4, 6, 6, DType::kF32, Device::kCpu};
};

TEST_F(TensorTest, RangesAreViewsOfTheSameMemory) {
  const Tensor rows = whole_.row_range(1, 3);
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.row<float>(0)[0], 6);
  const Tensor block = rows.col_range(2, 5);
  EXPECT_EQ(block.cols, 3);
  EXPECT_EQ(block.stride, 6);
  EXPECT_EQ(block.row<float>(1)[2], 16);
  block.row<float>(1)[2] = -1;
  EXPECT_EQ(values_[16], -1);
}

TEST_F(TensorTest, KnowsWhetherRowsLieEndToEnd) {
  EXPECT_TRUE(whole_.contiguous());
  EXPECT_TRUE(whole_.row_range(1, 3).contiguous());
  EXPECT_FALSE(whole_.col_range(0, 3).contiguous());
  EXPECT_TRUE(whole_.col_range(0, 3).row_range(1, 2).contiguous()) << "one row always does";
}

TEST_F(TensorTest, RangesMayBeEmptyButNotOutside) {
  EXPECT_EQ(whole_.row_range(4, 4).rows, 0);
  EXPECT_EQ(whole_.col_range(0, 0).size(), 0);
  EXPECT_THROW(whole_.row_range(0, 5), core::Error);
  EXPECT_THROW(whole_.row_range(-1, 2), core::Error);
  EXPECT_THROW(whole_.row_range(3, 2), core::Error);
  EXPECT_THROW(whole_.col_range(0, 7), core::Error);
}

TEST_F(TensorTest, ShapeErrorsNameTheTensorAndBothShapes) {
  EXPECT_NO_THROW(require_shape(whole_, 4, 6, "the weight"));
  try {
    require_shape(whole_, 4, 7, "the weight");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
    EXPECT_EQ(std::string(error.what()), "the weight must be [4, 7] but is [4, 6] F32 on cpu");
  }
}

TEST(VisitFloat, CallsWithTheTypeOrRefuses) {
  EXPECT_EQ(visit_float(DType::kF32, [](auto x) { return sizeof x; }), 4U);
  EXPECT_EQ(visit_float(DType::kF64, [](auto x) { return sizeof x; }), 8U);
  EXPECT_THROW(visit_float(DType::kI8, [](auto x) { return sizeof x; }), core::Error);
}

using Ints = std::vector<std::int32_t>;

TEST(RaggedTokens, FindsItsSequences) {
  const Ints tokens{5, 6, 7, 8};
  const Ints offsets{0, 1, 1, 4};
  const RaggedTokens batch{tokens, offsets};
  EXPECT_EQ(batch.batch(), 3);
  EXPECT_EQ(batch.total(), 4);
  EXPECT_EQ(batch.length(1), 0);
  EXPECT_EQ(batch.sequence(2).size(), 3U);
  EXPECT_EQ(batch.sequence(2)[0], 6);
  EXPECT_NO_THROW(check_ragged(batch, 9));
}

TEST(RaggedTokens, BrokenBatchesAreRefused) {
  const auto check = [](const Ints& tokens, const Ints& offsets) { check_ragged({tokens, offsets}, 10); };
  EXPECT_NO_THROW(check({}, {0}));
  EXPECT_NO_THROW(check({}, {0, 0}));
  EXPECT_THROW(check({}, {}), core::Error) << "no offsets";
  EXPECT_THROW(check({1}, {1, 1}), core::Error) << "does not start at 0";
  EXPECT_THROW(check({1, 2}, {0, 1}), core::Error) << "does not end at the number of tokens";
  EXPECT_THROW(check({1, 2}, {0, 3, 2}), core::Error) << "falls";
  EXPECT_THROW(check({1, 10}, {0, 2}), core::Error) << "outside of the vocabulary";
  EXPECT_THROW(check({-1}, {0, 1}), core::Error) << "negative";
}

}  // namespace
}  // namespace dragoman::tensor
