#include "memory.h"

#include "device_error.h"
#include "staging_ring.h"
#include "use_device.h"

#include <array>
#include <map>
#include <optional>

#include <dragoman/core/error.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::size_t kSegmentBytes = std::size_t{1} << 20;
constexpr std::size_t kSegments = 4;

/// The calling thread's way to a device.
class Staging final : public StagingRing::Copier {
 public:
  Staging() {
    require_success(cudaHostAlloc(&memory_, kSegments * kSegmentBytes, cudaHostAllocDefault), "taking pinned memory");
    ring_.emplace(memory_, kSegmentBytes, kSegments, *this);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() override {
    // At the end of the process the driver may have gone before.
    static_cast<void>(cudaStreamSynchronize(cudaStreamPerThread));
    for (const cudaEvent_t event : events_)
      if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
    static_cast<void>(cudaFreeHost(memory_));
  }
  void upload(void* to, const void* from, std::size_t bytes) { ring_->upload(to, from, bytes); }

 private:
  void copy(void* to, const void* staged, std::size_t bytes) override {
    require_success(cudaMemcpyAsync(to, staged, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread),
                    "copying to the device");
  }
  void mark(std::size_t segment) override {
    cudaEvent_t& event = events_.at(segment);
    if (event == nullptr) require_success(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    require_success(cudaEventRecord(event, cudaStreamPerThread), "recording an event");
  }
  void wait(std::size_t segment) override {
    require_success(cudaEventSynchronize(events_.at(segment)), "copying to the device");
  }

  void* memory_ = nullptr;
  std::array<cudaEvent_t, kSegments> events_{};
  std::optional<StagingRing> ring_;
};

/// Events and streams belong to a device, so each has a way of its own.
Staging& staging_of(int device) {
  static thread_local std::map<int, Staging> of_thread;
  return of_thread[device];
}

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) {
  device::use(number_);
  use_.take(bytes, number_);
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaSuccess) return data;
  use_.give_back(bytes);
  if (status != cudaErrorMemoryAllocation) require_success(status, "allocating memory");
  static_cast<void>(cudaGetLastError());  // it is told, so it must not be found later
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  require_success(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free memory");
  fail_for_memory(bytes, number_, free_bytes, all_bytes, use_.taken());
}

void DeviceMemory::deallocate(void* data, std::size_t bytes) noexcept {
  // Waits for the device. A failure is one of an earlier kernel, which whoever waits for its results is told.
  static_cast<void>(cudaFree(data));
  use_.give_back(bytes);
}

void DeviceMemory::copy_in(void* to, const void* from, std::size_t bytes) {
  upload(to, from, bytes);
  device::wait();
}

void DeviceMemory::upload(void* to, const void* from, std::size_t bytes) {
  device::use(number_);
  staging_of(number_).upload(to, from, bytes);
}

void DeviceMemory::copy_out(void* to, const void* from, std::size_t bytes) {
  device::use(number_);
  require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread),
                  "copying from the device");
  device::wait();
}

void DeviceMemory::copy(void* to, const void* from, std::size_t bytes) {
  device::use(number_);
  require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cudaStreamPerThread),
                  "copying within the device");
  device::wait();
}

void DeviceMemory::clear(void* data, std::size_t bytes) {
  device::use(number_);
  require_success(cudaMemsetAsync(data, 0, bytes, cudaStreamPerThread), "clearing memory");
  device::wait();
}

}  // namespace dragoman::backend::cuda
