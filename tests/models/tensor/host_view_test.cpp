#include "hidden_memory.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::tensor {
namespace {

using testing::HiddenMemory;

constexpr Device kDevice = Device::kCpu;

TEST(HostView, OfHostMemoryIsTheTensorItself) {
  const Buffer buffer(host_memory(), 12);
  const Tensor tensor{buffer.data(), 1, 3, 3, DType::kF32, kDevice};
  EXPECT_EQ(HostView::of(host_memory(), tensor).tensor().data, tensor.data);
  EXPECT_EQ(HostView::to_be_written(host_memory(), tensor).tensor().data, tensor.data);
}

TEST(HostView, CarriesValuesToHiddenMemoryAndBack) {
  HiddenMemory memory;
  const Buffer buffer(memory, 24);
  const Tensor tensor{buffer.data(), 2, 3, 3, DType::kF32, kDevice};
  const HostView written = HostView::to_be_written(memory, tensor);
  for (int i = 0; i < 6; ++i) set_element(written.tensor(), i / 3, i % 3, 1.5 * i);
  written.store();
  EXPECT_EQ(element(HostView::of(memory, tensor).tensor(), 1, 2), 7.5);
  {
    const HostView dropped = HostView::of(memory, tensor);
    set_element(dropped.tensor(), 1, 2, 99);
  }
  EXPECT_EQ(element(HostView::of(memory, tensor).tensor(), 1, 2), 7.5) << "what is not stored stays on the host";

  const Buffer other(memory, 24);
  const Tensor twin{other.data(), 2, 3, 3, DType::kF32, kDevice};
  clear(memory, twin);
  EXPECT_EQ(element(HostView::of(memory, twin).tensor(), 1, 2), 0);
  copy(memory, twin, tensor);
  EXPECT_EQ(element(HostView::of(memory, twin).tensor(), 0, 1), 1.5);
}

TEST(HostView, NeedsContiguousTensorsOfOneShape) {
  const Buffer buffer(host_memory(), 64);
  const Tensor strided{buffer.data(), 2, 3, 4, DType::kF32, kDevice};
  const Tensor six{buffer.data(), 1, 6, 6, DType::kF32, kDevice};
  const Tensor five{buffer.data(), 1, 5, 5, DType::kF32, kDevice};
  EXPECT_THROW(HostView::to_be_written(host_memory(), strided), core::Error);
  EXPECT_THROW(clear(host_memory(), strided), core::Error);
  EXPECT_THROW(copy(host_memory(), six, five), core::Error);
}

TEST(HostView, ChangesRowsThatDoNotLieEndToEnd) {
  HiddenMemory memory;
  const Buffer buffer(memory, 6 * sizeof(float));
  const Tensor whole{buffer.data(), 1, 6, 6, DType::kF32, kDevice};
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  memory.copy_in(buffer.data(), values.data(), 6 * sizeof(float));
  const Tensor second_column{static_cast<float*>(buffer.data()) + 1, 2, 1, 3, DType::kF32, kDevice};
  const HostView view = HostView::of(memory, second_column);
  EXPECT_EQ(element(view.tensor(), 1, 0), 5);
  set_element(view.tensor(), 1, 0, 50);
  view.store();
  const HostView after = HostView::of(memory, whole);
  const auto* first = after.tensor().as<float>();
  EXPECT_EQ(std::vector<float>(first, first + 6), (std::vector<float>{1, 2, 3, 4, 50, 6}));
}

TEST(Context, UploadsWhatKernelsOfAnotherMemoryRead) {
  HiddenMemory memory;
  const KernelTable kernels(kDevice);
  core::SequentialExecutor executor;
  Context context(kernels, memory, DType::kF32, executor);
  const std::vector<std::int32_t> values{3, 1, 4, 1, 5};
  context.step([&] {
    const Indices indices = context.indices(values);
    EXPECT_EQ(indices.host.data(), values.data());
    ASSERT_NE(indices.device, values.data());
    std::vector<std::int32_t> there(values.size());
    memory.copy_out(there.data(), indices.device, 20);
    EXPECT_EQ(there, values);

    const Tensor numbers = copy_to_step(context, std::vector<float>{1, 2, 3, 4}, 2, 2);
    EXPECT_EQ(element(HostView::of(memory, numbers).tensor(), 1, 1), 4);
    // The host's step memory is the host's, whatever the device.
    auto* note = static_cast<int*>(context.host_arena().allocate(sizeof(int)));
    *note = 7;
    EXPECT_EQ(*note, 7);
  });
}

}  // namespace
}  // namespace dragoman::tensor
