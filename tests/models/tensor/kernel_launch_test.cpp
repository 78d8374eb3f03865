#include "dragoman/tensor/kernel_launch.h"

#include "error_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/parallel.h>
#include <dragoman/tensor/context.h>

namespace dragoman::tensor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Host memory with a queue that writes down what it is told.
class QueuedMemory final : public DeviceMemory, public LaunchQueue {
 public:
  void* allocate(std::size_t bytes) override { return host_memory().allocate(bytes); }
  void deallocate(void* data, std::size_t bytes) noexcept override { host_memory().deallocate(data, bytes); }
  Launch begin_launch() override {
    said.emplace_back("begin");
    return {.stream = this, .timer = &said};
  }
  void end_launch(const Launch& launch, const char* kernel) noexcept override {
    said.emplace_back(launch.stream == this && launch.timer == &said ? kernel : "another launch");
  }
  std::vector<std::string> said;
};

TEST(KernelLaunch, SurroundsALaunchInTheStreamOfTheDevice) {
  const KernelTable kernels(Device::of("queued"));
  QueuedMemory memory;
  core::SequentialExecutor executor;
  Context context(kernels, memory, DType::kF32, executor);
  {
    const KernelLaunch launch(context, "mine.op");
    EXPECT_EQ(launch.stream(), &memory);
    EXPECT_THAT(memory.said, ElementsAre("begin"));
  }
  EXPECT_THAT(memory.said, ElementsAre("begin", "mine.op"));
}

TEST(KernelLaunch, NeedsADeviceThatLaunchesKernels) {
  const KernelTable kernels(Device::kCpu);
  core::SequentialExecutor executor;
  Context context(kernels, host_memory(), DType::kF32, executor);
  EXPECT_THAT(testing::error_of([&] { KernelLaunch(context, "mine.op"); }),
              AllOf(HasSubstr("mine.op"), HasSubstr("'cpu'")));
}

}  // namespace
}  // namespace dragoman::tensor
