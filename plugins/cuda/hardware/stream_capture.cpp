#include "stream_capture.h"

#include "device_error.h"
#include "use_device.h"

namespace dragoman::backend::cuda {
namespace {

/// The device memory of a graph's node, estimated: with CUDA 11.2 a graph of 2,000 kernels took 63 MB more than one of
/// 1,000 (forums.developer.nvidia.com/t/increasing-memory-footprint-with-large-task-graphs/244901). No call returns it.
constexpr std::uint64_t kBytesOfNode = 64 << 10;

/// Counts memory that CUDA itself allocates.
class CountedBytes {
 public:
  CountedBytes(MemoryUse& use, std::uint64_t bytes, int device) : use_(use), bytes_(bytes) { use.take(bytes, device); }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  ~CountedBytes() { use_.give_back(bytes_); }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  MemoryUse& use_;
  std::uint64_t bytes_;
};

class CudaGraph final : public LaunchGraph {
 public:
  CudaGraph(cudaGraph_t graph, int device, MemoryUse& use)
      : bytes_(use, nodes_of(graph) * kBytesOfNode, device), device_(device) {
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
  std::uint64_t bytes() const override { return bytes_.bytes(); }

 private:
  static std::uint64_t nodes_of(cudaGraph_t graph) {
    std::size_t nodes = 0;
    require_success(cudaGraphGetNodes(graph, nullptr, &nodes), "counting a graph's kernels");
    return nodes;
  }

  CountedBytes bytes_;
  cudaGraphExec_t graph_ = nullptr;
  int device_;
};

class StreamCapture final : public LaunchCapture {
 public:
  StreamCapture(int device, MemoryUse& use) : device_(device), use_(use) {}

  void begin() override {
    device::use(device_);
    require_success(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal),
                    "beginning to record a step");
  }
  std::unique_ptr<LaunchGraph> end() override {
    cudaGraph_t graph = nullptr;
    require_success(cudaStreamEndCapture(cudaStreamPerThread, &graph), "recording a step");
    const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> owner(graph, cudaGraphDestroy);
    return std::make_unique<CudaGraph>(graph, device_, use_);
  }
  void abandon() noexcept override {
    cudaGraph_t graph = nullptr;
    ignore(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    if (graph != nullptr) ignore(cudaGraphDestroy(graph));
  }

 private:
  int device_;
  MemoryUse& use_;
};

}  // namespace

std::unique_ptr<LaunchCapture> make_stream_capture(int device, MemoryUse& use) {
  return std::make_unique<StreamCapture>(device, use);
}

}  // namespace dragoman::backend::cuda
