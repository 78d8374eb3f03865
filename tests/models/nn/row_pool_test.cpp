#include "dragoman/nn/row_pool.h"

#include "hidden_memory.h"

#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <dragoman/core/parallel.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {
namespace {

using tensor::DType;

class RowPoolTest : public ::testing::Test {
 protected:
  void put(const tensor::Tensor& rows, std::int32_t row, float value) {
    const std::vector<float> values(static_cast<std::size_t>(rows.cols), value);
    memory_.copy_in(rows.row<float>(row), values.data(), values.size() * sizeof(float));
  }
  float at(const tensor::Tensor& rows, std::int32_t row) {
    return static_cast<float>(
        tensor::element(tensor::HostView::of(memory_, rows.row_range(row, row + 1)).tensor(), 0, rows.cols - 1));
  }

  testing::HiddenMemory memory_;
  tensor::KernelTable kernels_{tensor::Device::of("hidden")};
  core::SequentialExecutor executor_;
  tensor::Context context_{kernels_, memory_, DType::kF32, executor_};
};

TEST_F(RowPoolTest, HandsOutEachRowOnceAndKeepsValuesWhenItGrows) {
  RowPool pool(context_, {8, 3}, context_.float_type());
  std::vector<std::int32_t> pages;
  std::set<std::int32_t> rows;
  for (int i = 0; i < 200; ++i) {
    pages.push_back(pool.take_page());
    for (std::int32_t row = pages.back(); row < pages.back() + RowPool::kPageRows; ++row) {
      EXPECT_TRUE(rows.insert(row).second);
      put(pool.rows(0), row, static_cast<float>(row));
      put(pool.rows(1), row, static_cast<float>(-row));
    }
  }
  for (const std::int32_t row : rows) {
    ASSERT_LT(row, pool.rows(0).rows);
    ASSERT_EQ(at(pool.rows(0), row), static_cast<float>(row));
    ASSERT_EQ(at(pool.rows(1), row), static_cast<float>(-row));
  }
  EXPECT_EQ(pool.bytes_in_use(), 200U * 16 * (8 + 3) * sizeof(float));
}

TEST_F(RowPoolTest, GivesPagesOutAgainWithoutMoving) {
  RowPool pool(context_, {4}, context_.float_type());
  std::vector<std::int32_t> pages;
  for (int i = 0; i < 100; ++i) pages.push_back(pool.take_page());
  const std::int64_t generation = pool.generation();
  const std::set<std::int32_t> first(pages.begin(), pages.end());
  pool.give_back(pages);
  EXPECT_EQ(pool.bytes_in_use(), 0U);
  std::set<std::int32_t> second;
  for (int i = 0; i < 100; ++i) second.insert(pool.take_page());
  EXPECT_EQ(second.size(), 100U);
  EXPECT_EQ(pool.generation(), generation);
}

TEST_F(RowPoolTest, GenerationsTellPoolsAndMovesApart) {
  RowPool one(context_, {4}, context_.float_type());
  RowPool other(context_, {4}, context_.float_type());
  std::set<std::int64_t> seen;
  for (int i = 0; i < 100; ++i) {
    one.take_page();
    seen.insert(one.generation());
  }
  EXPECT_GT(seen.size(), 2U);
  other.take_page();
  EXPECT_FALSE(seen.contains(other.generation()));
}

TEST_F(RowPoolTest, WithoutTensorsRowsAreStillCounted) {
  RowPool pool(context_, {}, context_.float_type());
  EXPECT_NE(pool.take_page(), pool.take_page());
  EXPECT_EQ(pool.bytes_in_use(), 0U);
}

}  // namespace
}  // namespace dragoman::nn
