#pragma once

#include <memory>

#include <dragoman/backend_cuda/memory_use.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/kernel_launch.h>

namespace dragoman::backend::cuda {

/// The memory of one CUDA device. What a thread copies comes after what it launched before, and is done on return, but
/// for what it uploads and queues. Bytes go to the device through pinned memory of the thread's.
class DeviceMemory final : public tensor::DeviceMemory, public tensor::LaunchQueue {
 public:
  explicit DeviceMemory(int number);
  ~DeviceMemory() override;

  /// From now on no more than so many bytes are taken; of several bounds the least holds.
  void bound(std::uint64_t bytes) noexcept { use_.bound(bytes); }
  /// Where memory that CUDA itself takes is counted.
  MemoryUse& use() noexcept { return use_; }
  /// Error{kUnsupported} that says how much there is, where it does not suffice.
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  bool host_readable() const noexcept override { return false; }
  void copy_in(void* to, const void* from, std::size_t bytes) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void copy_out(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<tensor::PendingRead> begin_read(const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void clear(void* data, std::size_t bytes) override;
  void queue_copy(void* to, const void* from, std::size_t bytes) override;
  void queue_clear(void* data, std::size_t bytes) override;
  Launch begin_launch() override;
  void end_launch(const Launch& launch, const char* kernel) noexcept override;

 private:
  int number_;
  std::shared_ptr<class ReadRooms> rooms_;
  MemoryUse use_;
};

}  // namespace dragoman::backend::cuda
