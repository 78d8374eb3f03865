#include "stream_capture.h"

#include "device_error.h"
#include "use_device.h"

#include <exception>

namespace dragoman::backend::cuda {
namespace {

class CudaGraph final : public LaunchGraph {
 public:
  CudaGraph(cudaGraph_t graph, int device) : device_(device) {
    require_success(cudaGraphInstantiate(&graph_, graph, 0), "making a graph");
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    // It may still be under way, on whatever thread its context was used last.
    try {
      device::use(device_);
      static_cast<void>(cudaDeviceSynchronize());
    } catch (const std::exception&) {  // then nothing of the device's can be saved
    }
    static_cast<void>(cudaGraphExecDestroy(graph_));
  }
  void launch() override {
    device::use(device_);
    require_success(cudaGraphLaunch(graph_, cudaStreamPerThread), "launching a graph");
  }

 private:
  cudaGraphExec_t graph_ = nullptr;
  int device_;
};

class StreamCapture final : public LaunchCapture {
 public:
  explicit StreamCapture(int device) : device_(device) {}

  void begin() override {
    device::use(device_);
    require_success(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal),
                    "beginning to record a step");
  }
  std::unique_ptr<LaunchGraph> end() override {
    cudaGraph_t graph = nullptr;
    require_success(cudaStreamEndCapture(cudaStreamPerThread, &graph), "recording a step");
    const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> owner(graph, cudaGraphDestroy);
    return std::make_unique<CudaGraph>(graph, device_);
  }
  void abandon() noexcept override {
    cudaGraph_t graph = nullptr;
    static_cast<void>(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    static_cast<void>(cudaGetLastError());  // that the capture was given up is no failure of what comes next
  }

 private:
  int device_;
};

}  // namespace

std::unique_ptr<LaunchCapture> make_stream_capture(int device) {
  return std::make_unique<StreamCapture>(device);
}

}  // namespace dragoman::backend::cuda
