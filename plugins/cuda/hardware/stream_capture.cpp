#include "stream_capture.h"

#include "device_error.h"
#include "use_device.h"

namespace dragoman::backend::cuda {
namespace {

class CudaGraph final : public LaunchGraph {
 public:
  CudaGraph(cudaGraph_t graph, int device) : device_(device) {
    require_success(cudaGraphInstantiate(&graph_, graph, 0), "making a graph");
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  /// It may still be under way in the thread's stream. Waiting for the device would break what other threads record
  /// (NVIDIA, CUDA Programming Guide: Prohibited and Unhandled Operations).
  ~CudaGraph() override {
    ignore(cudaStreamSynchronize(cudaStreamPerThread));
    ignore(cudaGraphExecDestroy(graph_));
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
    ignore(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    if (graph != nullptr) ignore(cudaGraphDestroy(graph));
  }

 private:
  int device_;
};

}  // namespace

std::unique_ptr<LaunchCapture> make_stream_capture(int device) {
  return std::make_unique<StreamCapture>(device);
}

}  // namespace dragoman::backend::cuda
