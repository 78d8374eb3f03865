#include "fake_cuda_runtime.h"

#include "streams.h"
#include "watch.h"

#include <functional>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The tests' runtime itself: that it finds what CUDA forbids, and what goes wrong on a GPU sooner or later.
namespace dragoman::testing::fake_cuda {
namespace {

using ::testing::HasSubstr;

class FakeCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    emulation::set_lazy_streams(true);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&device_, 64), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(&pinned_, 64, cudaHostAllocDefault), cudaSuccess);
  }
  void TearDown() override {
    static_cast<void>(cudaStreamSynchronize(cudaStreamPerThread));
    take_fault();
    static_cast<void>(cudaFree(device_));
    static_cast<void>(cudaFreeHost(pinned_));
    emulation::set_lazy_streams(false);
  }
  static cudaError_t wait() { return cudaStreamSynchronize(cudaStreamPerThread); }
  cudaError_t upload() { return cudaMemcpyAsync(device_, pinned_, 64, cudaMemcpyHostToDevice, cudaStreamPerThread); }
  cudaError_t clear() { return cudaMemsetAsync(device_, 0, 64, cudaStreamPerThread); }
  static cudaError_t in_another_thread(const std::function<cudaError_t()>& call) {
    cudaError_t status = cudaSuccess;
    std::thread([&] {
      static_cast<void>(cudaSetDevice(0));
      status = call();
    }).join();
    return status;
  }
  /// The result of a capture of the calling thread, in which something is done.
  cudaError_t capture(cudaStreamCaptureMode mode, const std::function<void()>& meanwhile) {
    EXPECT_EQ(cudaStreamBeginCapture(cudaStreamPerThread, mode), cudaSuccess);
    EXPECT_EQ(clear(), cudaSuccess);
    meanwhile();
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(cudaStreamPerThread, &graph);
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    return status;
  }

  void* device_ = nullptr;
  void* pinned_ = nullptr;
};

TEST_F(FakeCuda, ACopyReadsPinnedMemoryWhenTheStreamComesToIt) {
  auto* const bytes = static_cast<unsigned char*>(pinned_);
  bytes[0] = 1;
  ASSERT_EQ(upload(), cudaSuccess);
  bytes[0] = 2;
  ASSERT_EQ(wait(), cudaSuccess);
  unsigned char found[64] = {};
  ASSERT_EQ(cudaMemcpyAsync(found, device_, 64, cudaMemcpyDeviceToHost, cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(found[0], 2);
}

TEST_F(FakeCuda, PinnedMemoryThatIsFreedTooEarlyIsAFault) {
  void* gone = nullptr;
  ASSERT_EQ(cudaHostAlloc(&gone, 64, cudaHostAllocDefault), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(device_, gone, 64, cudaMemcpyHostToDevice, cudaStreamPerThread), cudaSuccess);
  ASSERT_EQ(cudaFreeHost(gone), cudaSuccess);
  EXPECT_EQ(wait(), cudaErrorIllegalAddress);
  EXPECT_EQ(clear(), cudaErrorIllegalAddress) << "nothing works any more";
  EXPECT_THAT(take_fault(), HasSubstr("pinned memory"));
  EXPECT_EQ(clear(), cudaSuccess);
}

TEST_F(FakeCuda, MemoryThatIsFreedWhileAStreamUsesItIsAFault) {
  void* gone = nullptr;
  ASSERT_EQ(cudaMalloc(&gone, 64), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(gone, 0, 64, cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(in_another_thread([&] { return cudaFree(gone); }), cudaSuccess);
  EXPECT_EQ(wait(), cudaErrorIllegalAddress);
  EXPECT_THAT(take_fault(), HasSubstr("which is not allocated"));
  EXPECT_EQ(cudaFree(gone), cudaErrorInvalidValue);
}

TEST_F(FakeCuda, WhatNothingHasWrittenIsNotRead) {
  if (!emulation::kWatchesKernels) GTEST_SKIP() << "memory is not watched in this build";
  ASSERT_EQ(cudaMemcpyAsync(pinned_, device_, 64, cudaMemcpyDeviceToHost, cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(wait(), cudaErrorIllegalAddress);
  EXPECT_THAT(take_fault(), HasSubstr("nothing has written"));
}

TEST_F(FakeCuda, AnEventOfAnotherThreadIsWaitedFor) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(clear(), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, cudaStreamPerThread), cudaSuccess);
  const auto read = [&] {
    unsigned char found[64] = {};
    return cudaMemcpyAsync(found, device_, 64, cudaMemcpyDeviceToHost, cudaStreamPerThread);
  };
  EXPECT_EQ(in_another_thread([&] {
              const cudaError_t status = cudaEventSynchronize(event);
              return status == cudaSuccess ? read() : status;
            }),
            cudaSuccess);
  static_cast<void>(cudaEventDestroy(event));
}

/// The captures of one thread, and the calls of another.
TEST_F(FakeCuda, ACaptureForbidsWhatItsModeForbids) {
  const std::vector<cudaStreamCaptureMode> modes{cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                 cudaStreamCaptureModeRelaxed};
  const auto allocate = [] {
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, 64);
    if (status == cudaSuccess) static_cast<void>(cudaFree(data));
    return status;
  };
  for (const cudaStreamCaptureMode mode : modes) {
    EXPECT_EQ(capture(mode, [] {}), cudaSuccess) << mode;
    cudaError_t status = cudaSuccess;
    cudaError_t captured = capture(mode, [&] { status = in_another_thread(allocate); });
    const bool is_global = mode == cudaStreamCaptureModeGlobal;
    EXPECT_EQ(status, is_global ? cudaErrorStreamCaptureUnsupported : cudaSuccess) << mode;
    EXPECT_EQ(captured, is_global ? cudaErrorStreamCaptureInvalidated : cudaSuccess) << mode;
    captured = capture(mode, [&] { status = in_another_thread(cudaDeviceSynchronize); });
    EXPECT_EQ(status, cudaErrorStreamCaptureUnsupported) << mode;
    EXPECT_EQ(captured, cudaErrorStreamCaptureInvalidated) << mode;
    captured = capture(
        mode, [&] { status = in_another_thread([&] { return cudaMemcpy(device_, pinned_, 64, cudaMemcpyDefault); }); });
    EXPECT_EQ(status, cudaErrorStreamCaptureImplicit) << mode;
    EXPECT_EQ(captured, cudaErrorStreamCaptureInvalidated) << mode;
    captured = capture(mode, [&] { status = in_another_thread([&] { return wait(); }); });
    EXPECT_EQ(status, cudaSuccess) << mode << ": the stream of another thread";
    EXPECT_EQ(captured, cudaSuccess) << mode;
    captured = capture(mode, [&] { status = wait(); });
    EXPECT_EQ(status, cudaErrorStreamCaptureUnsupported) << mode;
    EXPECT_EQ(captured, cudaErrorStreamCaptureInvalidated) << mode;
  }
  cudaError_t status = cudaSuccess;
  EXPECT_EQ(capture(cudaStreamCaptureModeThreadLocal, [&] { status = allocate(); }), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(status, cudaErrorStreamCaptureUnsupported);
}

}  // namespace
}  // namespace dragoman::testing::fake_cuda
