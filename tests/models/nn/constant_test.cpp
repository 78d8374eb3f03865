#include "dragoman/nn/constant.h"

#include "hidden_memory.h"
#include "nn_harness.h"

#include <atomic>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::nn {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::HiddenMemory;
using testing::values_of;

class ConstantTest : public ::testing::Test {
 protected:
  std::function<std::vector<double>()> counted(std::vector<double> values) {
    return [this, values] {
      ++made_;
      return values;
    };
  }

  HiddenMemory memory_;
  const tensor::KernelTable kernels_{tensor::Device::kCpu};
  core::SequentialExecutor executor_;
  const tensor::Context context_{kernels_, memory_, tensor::DType::kF32, executor_};
  std::atomic<int> made_ = 0;
};

TEST_F(ConstantTest, IsMadeOnFirstUseAndInTheMemoryOfItsContext) {
  const Constant table(2, 3, counted({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(made_, 0);
  const tensor::Tensor tensor = table.on(context_);
  EXPECT_EQ(tensor.rows, 2);
  EXPECT_EQ(tensor.dtype, tensor::DType::kF32);
  EXPECT_EQ(values_of(memory_, tensor), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(table.on(context_).data, tensor.data);
  EXPECT_EQ(made_, 1);
}

TEST_F(ConstantTest, IsMadeOnceHoweverManyThreadsAsk) {
  const Constant table(1, 4, counted({1, 2, 3, 4}));
  std::vector<const void*> found(8);
  {
    std::vector<std::jthread> threads;
    for (const void*& place : found) threads.emplace_back([&] { place = table.on(context_).data; });
  }
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 1U);
}

TEST_F(ConstantTest, StaysOnItsDevice) {
  const Constant table(1, 1, counted({1}));
  table.on(context_);
  const tensor::Context elsewhere(kernels_, tensor::Device::kReference, memory_, tensor::DType::kF32, executor_);
  EXPECT_THAT(error_of([&] { table.on(elsewhere); }),
              HasSubstr("computed on cpu in F32 is asked to compute on reference in F32"));
  const tensor::Context in_doubles(kernels_, memory_, tensor::DType::kF64, executor_);
  EXPECT_THAT(error_of([&] { table.on(in_doubles); }), HasSubstr("on cpu in F64"));
}

/// Whoever made it may fail, for want of memory, and be asked again.
TEST_F(ConstantTest, IsTriedAgainAfterAFailure) {
  bool fails = true;
  const Constant table(1, 2, [&] {
    if (std::exchange(fails, false)) throw std::bad_alloc();
    return std::vector<double>{3, 4};
  });
  EXPECT_THROW(table.on(context_), std::bad_alloc);
  EXPECT_EQ(values_of(memory_, table.on(context_)), (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace dragoman::nn
