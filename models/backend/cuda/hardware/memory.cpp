#include "memory.h"

#include "device_error.h"
#include "use_device.h"

#include <dragoman/core/error.h>

namespace dragoman::backend::cuda {

void* DeviceMemory::allocate(std::size_t bytes) {
  device::use(number_);
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status != cudaErrorMemoryAllocation) {
    require_success(status, "allocating memory");
    return data;
  }
  static_cast<void>(cudaGetLastError());  // it is told, so it must not be found later
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  require_success(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free memory");
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  core::fail(core::ErrorCode::kUnsupported,
             "device {} has no room for {} MiB more: {} of its {} MiB are free; use smaller batches (--rows, "
             "training.batch_tokens), or a device that nothing else uses",
             number_, (bytes + kMebibyte - 1) / kMebibyte, free_bytes / kMebibyte, all_bytes / kMebibyte);
}

void DeviceMemory::deallocate(void* data, std::size_t /*bytes*/) noexcept {
  // Waits for the device. A failure is one of an earlier kernel, which whoever waits for its results is told.
  static_cast<void>(cudaFree(data));
}

void DeviceMemory::copy_in(void* to, const void* from, std::size_t bytes) {
  device::use(number_);
  require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread),
                  "copying to the device");
  device::wait();
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
