#include "nccl.h"

#include "device_error.h"
#include "nccl/nccl_links.h"
#include "use_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace dragoman::backend::cuda {
namespace {

/// A stream of its own, which takes turns with the calling thread's by events: NCCL may put what it does into a stream
/// from another thread than the calling one, whose "stream of this thread" is another.
class StreamQueue final : public LinkQueue {
 public:
  explicit StreamQueue(int device) : device_(device) {
    use();
    require_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    require_success(cudaEventCreateWithFlags(&launched_, cudaEventDisableTiming), "making an event");
    require_success(cudaEventCreateWithFlags(&exchanged_, cudaEventDisableTiming), "making an event");
  }
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;
  ~StreamQueue() override {
    // At the end of the process the driver may have gone before.
    for (const cudaEvent_t event : {launched_, exchanged_})
      if (event != nullptr) ignore(cudaEventDestroy(event));
    if (stream_ != nullptr) ignore(cudaStreamDestroy(stream_));
  }

  void use() override { device::use(device_); }
  void* stream() override { return stream_; }
  void begin() override {
    use();
    require_success(cudaEventRecord(launched_, cudaStreamPerThread), "recording an event");
    require_success(cudaStreamWaitEvent(stream_, launched_, 0), "ordering an exchange");
  }
  void end(const std::function<void()>& /*meanwhile*/) override {
    require_success(cudaEventRecord(exchanged_, stream_), "recording an event");
    require_success(cudaStreamWaitEvent(cudaStreamPerThread, exchanged_, 0), "ordering an exchange");
  }
  bool done() override {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaErrorNotReady) return false;
    require_success(state, "an exchange");
    return true;
  }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t launched_ = nullptr;
  cudaEvent_t exchanged_ = nullptr;
};

}  // namespace

std::unique_ptr<collective::DeviceLinks> make_nccl_links(const collective::LinkRequest& request) {
  return std::make_unique<NcclLinks>(*load_nccl().api, std::make_unique<StreamQueue>(request.device), request);
}

collective::LinkOffer offer_nccl(int device) {
  cudaDeviceProp properties{};
  std::string name;
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
    name = fmt::format("{} ", properties.name);
    for (const char byte : properties.uuid.bytes) name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  } else {
    static_cast<void>(cudaGetLastError());  // who computes there is told
  }
  return nccl_offer(load_nccl(), name);
}

}  // namespace dragoman::backend::cuda
