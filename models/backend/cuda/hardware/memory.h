#pragma once

#include <dragoman/tensor/arena.h>

namespace dragoman::backend::cuda {

/// The memory of one CUDA device. What a thread copies comes after what it launched before, and is done on return.
class DeviceMemory final : public tensor::DeviceMemory {
 public:
  explicit DeviceMemory(int number) : number_(number) {}

  /// Error{kUnsupported} that says how much there is, where it does not suffice.
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  bool host_readable() const noexcept override { return false; }
  void copy_in(void* to, const void* from, std::size_t bytes) override;
  void copy_out(void* to, const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void clear(void* data, std::size_t bytes) override;

 private:
  int number_;
};

}  // namespace dragoman::backend::cuda
