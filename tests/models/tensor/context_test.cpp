#include <gtest/gtest.h>

#include <dragoman/tensor/context.h>

namespace dragoman::tensor {
namespace {

class ContextTest : public ::testing::Test {
 protected:
  KernelTable kernels_{Device::kCpu};
  core::SequentialExecutor executor_;
  Context context_{kernels_, host_memory(), DType::kF32, executor_};
};

TEST_F(ContextTest, EqualStepsGetEqualAddresses) {
  std::vector<void*> first;
  for (int step = 0; step < 4; ++step) {
    std::vector<void*> addresses;
    context_.step([&] {
      addresses.push_back(context_.allocate(100, 70).data);
      addresses.push_back(context_.allocate(3, 1000000).data);
    });
    if (step == 1) first = addresses;
    if (step > 1) {
      EXPECT_EQ(addresses, first);
    }
  }
}

TEST_F(ContextTest, CopiesValuesIntoTheFloatType) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor x = copy_to_step(context_, values, 2, 3);
  EXPECT_EQ(x.dtype, DType::kF32);
  EXPECT_EQ(element(x, 1, 2), 6);
  EXPECT_THROW(copy_to_step(context_, values, 2, 2), core::Error);
}

TEST_F(ContextTest, ReadsAndWritesElementsOfEveryFloatType) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const Tensor x = context_.arena().allocate(2, 3, dtype, Device::kCpu);
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 3; ++j) set_element(x, i, j, 0.5 * static_cast<double>(i * 3 + j) - 1);
    EXPECT_EQ(element(x, 0, 0), -1) << name_of(dtype);
    EXPECT_EQ(element(x, 1, 2), 1.5) << name_of(dtype);
    EXPECT_EQ(element(x.col_range(1, 3), 1, 0), 1) << name_of(dtype);
  }
}

TEST_F(ContextTest, ReadsIntegersButDoesNotStoreRealsInThem) {
  const Tensor bytes = context_.arena().allocate(1, 2, DType::kI8, Device::kCpu);
  bytes.as<std::int8_t>()[1] = -128;
  EXPECT_EQ(element(bytes, 0, 1), -128);
  const Tensor ints = context_.arena().allocate(1, 1, DType::kI32, Device::kCpu);
  *ints.as<std::int32_t>() = -2000000000;
  EXPECT_EQ(element(ints, 0, 0), -2000000000);
  EXPECT_THROW(set_element(bytes, 0, 0, 0.5), core::Error);
}

TEST_F(ContextTest, IndicesAreTheSameMemoryOnTheHost) {
  const std::vector<std::int32_t> values{1, 2, 3};
  const Indices indices = context_.indices(values);
  EXPECT_EQ(indices.device, values.data());
  EXPECT_EQ(indices.size(), 3);
}

}  // namespace
}  // namespace dragoman::tensor
