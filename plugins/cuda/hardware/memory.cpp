#include "memory.h"

#include "device_error.h"
#include "launch_times.h"
#include "steps/staging_ring.h"
#include "use_device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <dragoman/core/error.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::size_t kSegmentBytes = std::size_t{1} << 20;
constexpr std::size_t kSegments = 4;

/// The calling thread's way to a device.
class Staging final : public StagingRing::Copier {
 public:
  explicit Staging(int device) : device_(device) {
    require_success(cudaHostAlloc(&memory_, kSegments * kSegmentBytes, cudaHostAllocDefault), "taking pinned memory");
    ring_.emplace(memory_, kSegmentBytes, kSegments, *this);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() override {
    // At the end of the process the driver may have gone before. The thread may have used another device since.
    ignore(cudaSetDevice(device_));
    ignore(cudaStreamSynchronize(cudaStreamPerThread));
    for (const cudaEvent_t event : events_)
      if (event != nullptr) ignore(cudaEventDestroy(event));
    ignore(cudaFreeHost(memory_));
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

  int device_;
  void* memory_ = nullptr;
  std::array<cudaEvent_t, kSegments> events_{};
  std::optional<StagingRing> ring_;
};

/// Events and streams belong to a device, so each has a way of its own.
Staging& staging_of(int device) {
  static thread_local std::map<int, Staging> of_thread;
  return of_thread.try_emplace(device, device).first->second;
}

}  // namespace

/// Pinned memory that reads in flight are copied to, each with the event that says when it is there. They are used
/// again and again, since making one may wait for the device.
class ReadRooms {
 public:
  struct Room {
    void* data = nullptr;
    std::size_t bytes = 0;
    cudaEvent_t arrived = nullptr;
  };

  ReadRooms() = default;
  ReadRooms(const ReadRooms&) = delete;
  ReadRooms& operator=(const ReadRooms&) = delete;
  ~ReadRooms() {
    // At the end of the process the driver may have gone before.
    for (const Room& room : free_) {
      ignore(cudaEventDestroy(room.arrived));
      ignore(cudaFreeHost(room.data));
    }
  }

  Room take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto fits = std::ranges::find_if(free_, [&](const Room& room) { return room.bytes >= bytes; });
      if (fits != free_.end()) {
        const Room room = *fits;
        free_.erase(fits);
        return room;
      }
    }
    Room room{.bytes = std::bit_ceil(std::max(bytes, kLeastBytes))};
    require_success(cudaHostAlloc(&room.data, room.bytes, cudaHostAllocDefault), "taking pinned memory");
    require_success(cudaEventCreateWithFlags(&room.arrived, cudaEventDisableTiming), "making an event");
    return room;
  }
  void give_back(const Room& room) {
    const std::lock_guard lock(mutex_);
    free_.push_back(room);
  }

 private:
  static constexpr std::size_t kLeastBytes = 4096;

  std::mutex mutex_;
  std::vector<Room> free_;
};

namespace {

class Read final : public tensor::PendingRead {
 public:
  Read(std::shared_ptr<ReadRooms> rooms, const void* from, std::size_t bytes)
      : rooms_(std::move(rooms)), room_(rooms_->take(bytes)), bytes_(bytes) {
    require_success(cudaMemcpyAsync(room_.data, from, bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread),
                    "copying from the device");
    require_success(cudaEventRecord(room_.arrived, cudaStreamPerThread), "recording an event");
  }
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;
  ~Read() override {
    // Whoever takes the room next must not be written over.
    ignore(cudaEventSynchronize(room_.arrived));
    rooms_->give_back(room_);
  }
  std::span<const std::byte> wait() override {
    require_success(cudaEventSynchronize(room_.arrived), "copying from the device");
    return {static_cast<const std::byte*>(room_.data), bytes_};
  }

 private:
  std::shared_ptr<ReadRooms> rooms_;
  ReadRooms::Room room_;
  std::size_t bytes_;
};

}  // namespace

DeviceMemory::DeviceMemory(int number) : number_(number), rooms_(std::make_shared<ReadRooms>()) {}
DeviceMemory::~DeviceMemory() = default;

void* DeviceMemory::allocate(std::size_t bytes) {
  device::use(number_);
  use_.take(bytes, number_);
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaSuccess) return data;
  use_.give_back(bytes);
  if (status != cudaErrorMemoryAllocation) require_success(status, "allocating memory");
  ignore(status);  // the error below reports it
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  require_success(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free memory");
  fail_for_memory(bytes, number_, free_bytes, all_bytes, use_.taken());
}

void DeviceMemory::deallocate(void* data, std::size_t bytes) noexcept {
  // The thread's kernels may still use the memory, since nothing else waits for a step that was begun ahead. A failure
  // belongs to an earlier kernel, and is reported to the code that waits for its results.
  ignore(cudaStreamSynchronize(cudaStreamPerThread));
  ignore(cudaFree(data));
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

std::unique_ptr<tensor::PendingRead> DeviceMemory::begin_read(const void* from, std::size_t bytes) {
  device::use(number_);
  return std::make_unique<Read>(rooms_, from, bytes);
}

void DeviceMemory::queue_copy(void* to, const void* from, std::size_t bytes) {
  device::use(number_);
  require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cudaStreamPerThread),
                  "copying within the device");
}

void DeviceMemory::queue_clear(void* data, std::size_t bytes) {
  device::use(number_);
  require_success(cudaMemsetAsync(data, 0, bytes, cudaStreamPerThread), "clearing memory");
}

void DeviceMemory::copy(void* to, const void* from, std::size_t bytes) {
  queue_copy(to, from, bytes);
  device::wait();
}

void DeviceMemory::clear(void* data, std::size_t bytes) {
  queue_clear(data, bytes);
  device::wait();
}

tensor::LaunchQueue::Launch DeviceMemory::begin_launch() {
  device::use(number_);
  return {.stream = cudaStreamPerThread, .timer = launch_times::begin_launch()};
}

void DeviceMemory::end_launch(const Launch& launch, const char* kernel) noexcept {
  launch_times::end_launch(kernel, launch.timer);
}

}  // namespace dragoman::backend::cuda
