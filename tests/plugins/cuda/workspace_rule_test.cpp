#include "emulated_library.h"

#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tensor/arena.h>

// What the tests' library of products verifies of a workspace, by planted faults.
namespace dragoman::backend::cuda {
namespace {

using ::testing::HasSubstr;

class WorkspaceRule : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSize = 16;

  WorkspaceRule() {
    for (const tensor::Buffer* buffer : {&a_, &b_, &c_}) memory().clear(buffer->data(), buffer->size());
  }
  ~WorkspaceRule() override { testing::emulation::set_lazy_streams(false); }

  testing::EmulatedMemory& memory() { return backend_.memory(0); }
  std::size_t needed() const { return library_->workspace(shape_, {}).value_or(0); }
  /// The message of what a product throws.
  std::string failure_with(void* workspace, std::size_t bytes) {
    try {
      library_->run(shape_, {.a = a_.data(), .b = b_.data(), .c = c_.data()}, {}, workspace, bytes);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no failure";
  }

  testing::EmulatedCuda backend_;
  GemmShape shape_{.type = GemmType::kBF16,
                   .rows = kSize,
                   .cols = kSize,
                   .inner = kSize,
                   .a_stride = kSize,
                   .b_stride = kSize,
                   .c_stride = kSize};
  tensor::Buffer a_{memory(), kSize* kSize * 2};
  tensor::Buffer b_{memory(), kSize* kSize * 2};
  tensor::Buffer c_{memory(), kSize* kSize * 4};
  std::unique_ptr<GemmLibrary> library_ = testing::make_kernel_library(memory());
  tensor::Buffer workspace_{memory(), needed() + kWorkspaceAlignment};
};

TEST_F(WorkspaceRule, AWorkspaceIsAlignedAndLargeEnough) {
  ASSERT_GT(needed(), 0U);
  EXPECT_EQ(failure_with(workspace_.data(), needed()), "no failure");
  EXPECT_THAT(failure_with(workspace_.data(), needed() - 1), HasSubstr("though the product takes"));
  EXPECT_THAT(failure_with(static_cast<char*>(workspace_.data()) + 16, needed()),
              HasSubstr("which cuBLASLt would refuse"));
}

TEST_F(WorkspaceRule, ABiasAndAKeptInputAreAligned) {
  using enum GemmActivation;
  const tensor::Buffer floats(memory(), kSize * kSize * 4 + 16);
  memory().clear(floats.data(), floats.size());
  auto* const aligned = static_cast<float*>(floats.data());
  const auto failure = [&](const GemmShape& shape, const float* bias, float* input) {
    try {
      library_->run(shape, {a_.data(), b_.data(), c_.data(), bias, input}, {}, workspace_.data(), needed());
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("no failure");
  };
  GemmShape shape = shape_;
  shape.bias = true;
  EXPECT_EQ(failure(shape, aligned, nullptr), "no failure");
  EXPECT_THAT(failure(shape, aligned + 1, nullptr), HasSubstr("a bias that is not aligned to 16 bytes"));
  shape = shape_;
  shape.activation = kGeluTanh;
  shape.keeps_input = true;
  shape.input_stride = kSize;
  EXPECT_EQ(failure(shape, nullptr, aligned), "no failure");
  EXPECT_THAT(failure(shape, nullptr, aligned + 2), HasSubstr("an activation input that is not aligned"));
  shape.input_stride = kSize + 4;
  EXPECT_THAT(failure(shape, nullptr, aligned), HasSubstr("no multiple of 8"));
  shape.activation = kRelu;
  EXPECT_THAT(failure(shape, nullptr, aligned), HasSubstr("only GELU keeps"));
  shape = shape_;
  shape.activation = kRelu;
  shape.accumulate = true;
  EXPECT_THAT(failure(shape, nullptr, nullptr), HasSubstr("a sum of activated products"));
}

TEST_F(WorkspaceRule, AWorkspaceIsThere) {
  if (!testing::emulation::kWatchesKernels) GTEST_SKIP() << "memory is not watched in this build";
  void* const gone = memory().allocate(needed());
  memory().deallocate(gone, needed());
  EXPECT_THAT(failure_with(gone, needed()), HasSubstr("a product's workspace has byte 0 of"));
}

/// What a product has left there is nobody's, and what was there before is lost.
TEST_F(WorkspaceRule, TheContentsOfAWorkspaceAreUndefined) {
  if (!testing::emulation::kWatchesKernels) GTEST_SKIP() << "memory is not watched in this build";
  memory().clear(workspace_.data(), workspace_.size());
  EXPECT_EQ(failure_with(workspace_.data(), needed()), "no failure");
  std::string bytes(needed(), ' ');
  EXPECT_THROW(memory().copy_out(bytes.data(), workspace_.data(), bytes.size()), std::runtime_error);
}

TEST_F(WorkspaceRule, TwoThreadsHaveTwoWorkspaces) {
  testing::emulation::set_lazy_streams(true);
  EXPECT_EQ(failure_with(workspace_.data(), needed()), "no failure");
  std::string failure;
  std::thread([&] { failure = failure_with(workspace_.data(), needed()); }).join();
  EXPECT_THAT(failure, HasSubstr("which a product of another thread has not left yet"));
  testing::emulation::wait_for_stream();
  std::thread([&] { failure = failure_with(workspace_.data(), needed()); }).join();
  EXPECT_EQ(failure, "no failure");
}

}  // namespace
}  // namespace dragoman::backend::cuda
